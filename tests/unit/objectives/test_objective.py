"""What objectives share: which heads they train, and the layout of packed rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from greffe.config.sections import Classification
from greffe.errors import RecipeError
from greffe.objectives.causal import Causal
from greffe.objectives.objective import language_spec, layout, objectives_with

Make = Callable[..., Any]


def test_only_language_objectives_are_pretrained() -> None:
    spec = Causal()
    assert language_spec(spec) is spec
    with pytest.raises(RecipeError, match="cannot be pretrained") as caught:
        language_spec(Classification())
    assert "finetune" in str(caught.value)


def test_heads_name_the_objectives_that_train_them() -> None:
    assert objectives_with("next_sentence") == "next_sentence"
    named = objectives_with("masked_token")
    assert " or " in named and "masked" in named and "causal" not in named


def test_attention_gets_only_the_layout_that_it_needs(pack: Make) -> None:
    def needed(*documents: range, length: int = 16) -> set[str]:
        found = layout(pack(documents, length))
        return {name for name, values in found.items() if values is not None}

    assert needed(range(300, 314)) == set()
    assert needed(range(300, 310)) == {"lengths"}
    assert needed(range(300, 306), range(320, 326)) == {"documents", "positions"}

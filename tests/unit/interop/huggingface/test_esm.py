"""ESM as a form of greffe's models: what published models have besides is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.interop.huggingface.exported import shape_of

from greffe.config.sections import ModelSpec
from greffe.errors import InputError
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.esm import Esm
from greffe.interop.huggingface.family import SpecialIds


def values() -> dict[str, Any]:
    config = Esm().config(shape_of("small"), 61, SpecialIds(pad=1, first=0, last=2))
    return dict(config.values)


def test_its_configuration_is_read_again() -> None:
    assert ModelSpec.model_validate(Esm().model(Config(values(), "config.json"))) == (
        shape_of("small")
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("token_dropout", True),
        ("emb_layer_norm_before", True),
        ("position_embedding_type", "absolute"),
        ("position_embedding_type", None),
    ],
)
def test_a_choice_that_greffe_lacks_is_named(name: str, value: object) -> None:
    with pytest.raises(InputError, match="cannot build") as caught:
        Esm().model(Config({**values(), name: value}, "config.json"))
    assert name in str(caught.value.expected)

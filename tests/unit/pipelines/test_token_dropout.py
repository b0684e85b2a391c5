"""Token dropout: which tokens of training texts are hidden, and how many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from greffe.config.option_groups import flat_keywords
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.data.native_tokenizer import train_tokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.objectives.classification import ClassificationObjective
from greffe.pipelines import finetune as finetune_module
from greffe.pipelines.finetune_recipe import build_masker

finetune = flat_keywords(finetune_module.finetune)


TEXTS = [
    (f"un roman {word} et sa suite {word} encore", label)
    for word, label in [("superbe", "1"), ("pénible", "0"), ("drôle", "1"), ("fade", "0")] * 4
]


@pytest.fixture
def tokenizer() -> Tokenizer:
    return train_tokenizer((text for text, _ in TEXTS), load_recipe("tiny").tokenizer)


def small(token_dropout: float) -> Recipe:
    return load_recipe("tiny").with_changes(
        [
            "tokenizer.vocab=400",
            "model.width=16",
            "model.heads=2",
            "model.feed_forward=16",
            "finetune.batch=8",
            f"classification.token_dropout={token_dropout}",
        ]
    )


def batches_seen(
    monkeypatch: pytest.MonkeyPatch, out: Path, token_dropout: float, **choices: Any
) -> list[torch.Tensor]:
    """Every batch of a short fine-tuning, in order of preparation."""
    seen = []
    original = ClassificationObjective.prepare

    def prepare(self: ClassificationObjective, rows: Any, labels: Any) -> Any:
        batch = original(self, rows, labels)
        seen.append(batch.ids)
        return batch

    with monkeypatch.context() as patch:
        patch.setattr(ClassificationObjective, "prepare", prepare)
        finetune(
            TEXTS, out, recipe=small(token_dropout), valid=TEXTS[:4], budget="4steps", **choices
        )
    return seen


def hidden(batches: list[torch.Tensor], out: Path) -> list[int]:
    mask = Tokenizer.load(out / "tokenizer.json").mask
    return [int((ids == mask).sum()) for ids in batches]


def test_without_token_dropout_there_is_no_masker(tokenizer: Tokenizer) -> None:
    assert build_masker(0.0, tokenizer) is None


def test_the_masker_only_masks(tokenizer: Tokenizer) -> None:
    masker = build_masker(0.5, tokenizer)
    assert masker is not None
    row = tokenizer.wrap(tokenizer.encode(TEXTS[0][0]))
    shown, _ = masker.hide(row, np.random.default_rng(0))
    changed = shown[shown != row]
    assert set(changed.tolist()) == {tokenizer.mask}
    assert len(changed) == round(0.5 * (len(row) - 2))
    assert shown[0] == row[0] and shown[-1] == row[-1]


def test_other_tokens_are_hidden_in_each_epoch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = batches_seen(monkeypatch, tmp_path / "plain", 0.0)
    some = batches_seen(monkeypatch, tmp_path / "some", 0.4)
    assert set(hidden(plain, tmp_path / "plain")) == {0}
    assert min(hidden(some, tmp_path / "some")) > 0
    # two epochs show the same texts with other tokens hidden
    assert not torch.equal(some[0], some[2])


def test_hidden_tokens_depend_on_the_seed_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, again, other = (
        batches_seen(monkeypatch, tmp_path / name, 0.4, seed=seed)
        for name, seed in (("first", 1), ("again", 1), ("other", 2))
    )
    assert all(torch.equal(a, b) for a, b in zip(first[:4], again[:4], strict=True))
    assert not all(
        a.shape == b.shape and torch.equal(a, b) for a, b in zip(first[:4], other[:4], strict=True)
    )

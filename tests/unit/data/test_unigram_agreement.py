"""Two Unigram trainings must agree before a vocabulary counts."""

from __future__ import annotations

import json

import pytest

from greffe.config.sections import TokenizerSpec
from greffe.data import tokenizer_training


def test_the_vocabulary_that_comes_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    rare, usual = {"▁a": -1.0, "b": -2.0}, {"▁a": -1.0, "c": -2.0}
    drawn = iter([rare, usual, usual, rare])
    monkeypatch.setattr(tokenizer_training, "_unigram_scores", lambda *_: next(drawn))
    made = tokenizer_training.learn(["a b c a b c"], TokenizerSpec(kind="unigram", vocab=300))
    learned = dict(json.loads(made)["model"]["vocab"])
    assert learned["c"] == -2.0
    assert "b" not in learned
    assert next(drawn) == rare

"""Features of bases and feature runs: pooling, windows, centered scores, caching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from greffe.baselines.features import (
    BaseReader,
    CachedReader,
    FeatureCache,
    FeatureRun,
    base_features,
    run_features,
)
from greffe.inference.prediction import centered_logs
from greffe.model.pooling import pool

LONG = "Ce livre est magnifique mais vraiment beaucoup trop long, hélas, et je le relirai. " * 3


def by_hand(reader: BaseReader, ids: np.ndarray) -> np.ndarray:
    """Mean embedding, mean and last token of the last layer, of one window."""
    row = torch.from_numpy(reader.tokenizer.wrap(ids))[None].long()
    model = reader.model.eval()
    with torch.no_grad():
        hidden = model.base(row, causal=reader.causal)
        parts = (model.base.embedding(row).mean(1), hidden.mean(1), hidden[:, -1])
    return torch.cat(parts, -1)[0].numpy()


@pytest.mark.parametrize("causal", [False, True])
def test_each_text_is_pooled_without_its_padding(reader: BaseReader, causal: bool) -> None:
    reader.causal = causal
    texts = ["Ce livre est beau.", "", "Le film !", "Le récit reste plutôt triste."]
    found = reader.features(texts)
    assert found.shape == (4, reader.columns) == (4, 48) and found.dtype == np.float32
    documents = reader.tokenizer.encode_batch(texts)
    for row, ids in zip(found, documents, strict=True):
        np.testing.assert_allclose(row, by_hand(reader, ids), atol=1e-5)


def test_causal_features_differ(reader: BaseReader) -> None:
    texts = ["Ce livre est vraiment beau."]
    both = base_features(reader.model, reader.tokenizer, texts, causal=False)
    left = base_features(reader.model, reader.tokenizer, texts, causal=True)
    assert np.abs(both - left).max() > 1e-3


def test_a_long_text_is_the_mean_of_its_windows_by_length(reader: BaseReader) -> None:
    (ids,) = reader.tokenizer.encode_batch([LONG])
    room = reader.model.spec.context - 2
    parts = np.array_split(ids, -(-len(ids) // room))
    assert len(parts) > 2 and len({len(part) for part in parts}) == 2
    expected = np.average(
        [by_hand(reader, part) for part in parts], axis=0, weights=[len(part) for part in parts]
    )
    before, found, after = reader.features(["Ce livre.", LONG, ""])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(before, reader.features(["Ce livre."])[0], atol=1e-5)
    np.testing.assert_allclose(after, reader.features([""])[0], atol=1e-5)


def test_a_base_in_training_mode_is_read_without_dropout(reader: BaseReader) -> None:
    reader.model.train()
    texts = ["Ce livre est beau."]
    np.testing.assert_array_equal(reader.features(texts), reader.features(texts))
    assert reader.model.training


def test_a_text_is_read_once(reader: BaseReader, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[list[str]] = []

    def note(*arguments: Any, **options: Any) -> np.ndarray:
        read.append(list(arguments[2]))
        return base_features(*arguments, **options)

    monkeypatch.setattr("greffe.baselines.features.base_features", note)
    cache = FeatureCache(reader)
    first = cache.features(["a", "b", "a"])
    second = cache.features(["b", "c"])
    assert read == [["a", "b"], ["c"]]
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal(first[1], second[0])
    np.testing.assert_allclose(second, reader.features(["b", "c"]), atol=1e-5)
    assert cache.features([]).shape == (0, reader.columns)


def test_pooling_matches_the_heads(reader: BaseReader) -> None:
    """Mean and last token of the last layer are what a classification head reads."""
    texts = ["Ce livre est beau.", "Le film !"]
    rows = [reader.tokenizer.wrap(ids) for ids in reader.tokenizer.encode_batch(texts)]
    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.full((2, int(lengths.max())), reader.tokenizer.pad)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.from_numpy(row)
    model = reader.model.eval()
    with torch.no_grad():
        hidden = model.base(ids, causal=False, lengths=lengths)
    found = reader.features(texts)
    np.testing.assert_allclose(found[:, 16:32], pool(hidden, lengths, "mean"), atol=1e-5)
    np.testing.assert_allclose(found[:, 32:], pool(hidden, lengths, "last"), atol=1e-5)


def test_a_cached_text_is_not_read_again() -> None:
    read: list[str] = []

    def lengths(texts: Sequence[str]) -> np.ndarray:
        read.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    reader = CachedReader(2, lengths)
    assert reader.features([]).shape == (0, 2)
    np.testing.assert_array_equal(reader.features(["a", "bcd", "a"])[:, 0], [1, 3, 1])
    np.testing.assert_array_equal(reader.features(["bcd", "ef"]), [[3, 1], [2, 1]])
    assert read == ["a", "bcd", "ef"]


# --- feature runs -------------------------------------------------------------------------------


def test_scores_are_centered_log_probabilities() -> None:
    found = centered_logs(np.array([[0.5, 0.5], [0.8, 0.2], [1.0, 0.0]]))
    half = np.log(4) / 2, np.log(1e6) / 2
    expected = [[0, 0], [half[0], -half[0]], [half[1], -half[1]]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32
    three = centered_logs(np.array([[0.2, 0.3, 0.5]]))
    np.testing.assert_allclose(three.sum(), 0, atol=1e-6)
    np.testing.assert_allclose(three[0, 2] - three[0, 0], np.log(2.5), rtol=1e-6)


def test_feature_runs_predict_block_by_block(
    random_run: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("greffe.data.tables.BLOCK_TEXTS", 4)
    sizes: list[int] = []

    def probabilities(texts: Sequence[str]) -> np.ndarray:
        sizes.append(len(texts))
        found: np.ndarray = random_run(2).probabilities(texts)
        return found

    texts = [f"texte {number}" for number in range(10)]
    (found,) = run_features([FeatureRun(2, probabilities)], texts)
    assert sizes == [4, 4, 2]
    np.testing.assert_array_equal(found, random_run(2).features(texts))
    assert "feature runs: 100%" in capsys.readouterr().err
    two, three = run_features([random_run(2), random_run(3)], texts)
    assert (two.shape, three.shape) == ((10, 2), (10, 3))
    assert run_features([], texts) == []
    assert random_run(3).features([]).shape == (0, 3)

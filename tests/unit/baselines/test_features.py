"""Features of a base: pooled as promised, long texts by windows, each text read once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from greffe.baselines.features import BaseReader, FeatureCache, base_features
from greffe.model.pooling import pool

LONG = "Ce livre est magnifique mais vraiment beaucoup trop long, hélas, et je le relirai. " * 3


def by_hand(reader: BaseReader, ids: np.ndarray) -> np.ndarray:
    """Embedding's mean, last layer's mean, last layer at the end, of one window."""
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


def test_reading_to_the_left_only_is_another_reading(reader: BaseReader) -> None:
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


def test_a_base_in_training_is_read_without_dropout(reader: BaseReader) -> None:
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


def test_pooling_is_that_of_the_heads(reader: BaseReader) -> None:
    """The mean and the end of the last layer are what a fresh classification head would read."""
    texts = ["Ce livre est beau.", "Le film !"]
    rows = [reader.tokenizer.wrap(ids) for ids in reader.tokenizer.encode_batch(texts)]
    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.full((2, int(lengths.max())), reader.tokenizer.pad)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.from_numpy(row)
    model = reader.model.eval()
    with torch.no_grad():
        hidden = model.base(ids, causal=False, lengths=lengths)
    found = reader.features(texts)
    np.testing.assert_allclose(found[:, 16:32], pool(hidden, lengths, "mean"), atol=1e-5)
    np.testing.assert_allclose(found[:, 32:], pool(hidden, lengths, "last"), atol=1e-5)

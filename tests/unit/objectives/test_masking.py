"""Hiding tokens: how many, which ones, and what replaces them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.objectives.masking import Masker, MaskingSpec
from greffe.seeding import rng


def ordinary(masker: Masker, ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return ~np.isin(ids, masker.specials)


@pytest.mark.parametrize("ratio", [0.01, 0.15, 0.3, 0.5, 0.99])
def test_the_number_of_hidden_tokens_is_exact(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, ratio: float
) -> None:
    masker = Masker(MaskingSpec(ratio=ratio), tiny_tokenizer)
    for number, row in enumerate(tiny_rows.ids):
        hidden, indices = masker.hide(row, rng(0, "x", number))
        count = int(ordinary(masker, row).sum())
        assert len(indices) == max(1, round(ratio * count))
        assert sorted(set(indices)) == indices.tolist()
        untouched = np.setdiff1d(np.arange(len(row)), indices)
        assert np.array_equal(hidden[untouched], row[untouched])


@pytest.mark.parametrize("whole_word", [False, True])
def test_specials_are_neither_hidden_nor_inserted(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, whole_word: bool
) -> None:
    spec = MaskingSpec(ratio=0.9, mask=0.0, random=1.0, whole_word=whole_word)
    masker = Masker(spec, tiny_tokenizer)
    assert len(masker.specials) == 5
    for number, row in enumerate(tiny_rows.ids):
        hidden, indices = masker.hide(row, rng(0, "x", number))
        assert not np.isin(row[indices], masker.specials).any()
        assert not np.isin(hidden[indices], masker.specials).any()


def test_fractions_are_exact_to_within_one_per_row(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows
) -> None:
    masker = Masker(MaskingSpec(ratio=0.5), tiny_tokenizer)
    for number, row in enumerate(tiny_rows.ids):
        hidden, indices = masker.hide(row, rng(3, "x", number))
        masks = int((hidden[indices] == tiny_tokenizer.mask).sum())
        kept = int((hidden[indices] == row[indices]).sum())
        assert abs(masks - 0.8 * len(indices)) < 1
        assert kept >= np.floor(0.1 * len(indices) + 1e-9)
        # A random token may equal the true one by chance, rarely.
        assert kept <= 0.1 * len(indices) + 2


def test_fractions_are_right_over_many_rows_even_where_few_are_hidden(
    tiny_tokenizer: Tokenizer,
) -> None:
    masker = Masker(MaskingSpec(ratio=0.15), tiny_tokenizer)
    row = np.arange(300, 314, dtype=np.int64)  # two of fourteen
    kinds = {"mask": 0, "kept": 0, "random": 0}
    chosen = np.zeros(14)
    rows = 6000
    for number in range(rows):
        hidden, indices = masker.hide(row, rng(1, "x", number))
        chosen[indices] += 1
        for index in indices:
            found = int(hidden[index])
            kind = "mask" if found == tiny_tokenizer.mask else "random"
            kinds["kept" if found == row[index] else kind] += 1
    total = 2 * rows
    assert sum(kinds.values()) == total
    assert kinds["mask"] / total == pytest.approx(0.8, abs=0.015)
    assert kinds["random"] / total == pytest.approx(0.1, abs=0.012)
    assert kinds["kept"] / total == pytest.approx(0.1, abs=0.012)
    # Every index is as likely as any other, and hidden by <mask> as often.
    assert chosen / rows == pytest.approx(np.full(14, 2 / 14), abs=0.025)


def test_random_tokens_come_from_the_whole_vocabulary(tiny_tokenizer: Tokenizer) -> None:
    masker = Masker(MaskingSpec(ratio=0.99, mask=0.0, random=1.0), tiny_tokenizer)
    row = np.full(200, 300, dtype=np.int64)
    found = np.concatenate([masker.hide(row, rng(0, "x", n))[0] for n in range(60)])
    assert len(np.unique(found)) > 0.95 * len(masker.replacements)


def test_whole_words_are_hidden_whole(tiny_tokenizer: Tokenizer, tiny_rows: PackedRows) -> None:
    masker = Masker(MaskingSpec(ratio=0.3, mask=1.0, random=0.0, whole_word=True), tiny_tokenizer)
    several = 0
    for number, row in enumerate(tiny_rows.ids):
        _, indices = masker.hide(row, rng(0, "x", number))
        words = np.cumsum(tiny_tokenizer.starts_word[row])
        for word in np.unique(words[indices]):
            members = np.flatnonzero((words == word) & ordinary(masker, row))
            assert np.isin(members, indices).all()
            several += len(members) > 1
        wanted = round(0.3 * int(ordinary(masker, row).sum()))
        assert 1 <= len(indices) <= wanted
        # The next word did not fit, and none is longer than a dozen pieces.
        assert len(indices) > wanted - 12
    assert several > 30


def test_a_single_word_is_hidden_however_long(tiny_tokenizer: Tokenizer) -> None:
    masker = Masker(MaskingSpec(whole_word=True), tiny_tokenizer)
    pieces = np.flatnonzero(~tiny_tokenizer.starts_word)[:20].astype(np.int64)
    _, indices = masker.hide(pieces, rng(0, "x"))
    assert indices.tolist() == list(range(20))


def test_hiding_is_a_function_of_the_stream(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows
) -> None:
    masker = Masker(MaskingSpec(), tiny_tokenizer)
    before = tiny_rows.ids.copy()

    def hide(seed: int) -> list[list[int]]:
        streams = [rng(seed, "x", number) for number in range(len(before))]
        return [part.tolist() for part in masker.hide_rows(tiny_rows.ids, streams)]

    assert hide(0) == hide(0) != hide(1)
    assert np.array_equal(tiny_rows.ids, before)

"""Texts that stand there twice, word for word or nearly. Knows nothing of labels, files or tokens.

Texts are equal if their normalised words are. Others are near if they share at least four fifths of
their shingles (runs of three words; of five characters in short texts, where a run of words would
be half of the text). A pair that near must share one of its rarest shingles: only texts that do are
compared, and these exactly. What is found does not depend on the order of the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from greffe.data.words import normalize

# Two sets of a and b shingles with c in common: c / (a + b - c) ≥ 4/5 if 9 c ≥ 4 (a + b).
_IN_COMMON, _IN_ALL = 9, 4
SHORT_TEXT = 8  # words: shorter texts are compared by characters
WORDS_A_SHINGLE = 3
CHARACTERS_A_SHINGLE = 5
BLOCK_PAIRS = 1 << 19  # pairs of texts looked at together
BLOCK_SHINGLES = 1 << 22  # shingles compared together
SKETCH_BITS = 128

_BITS_SET = np.array([value.bit_count() for value in range(256)], np.uint8)
_Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Duplicates:
    """Numbers a text: texts with the same number belong together."""

    exact: list[int]
    """Equal once normalised."""
    groups: list[int]
    """Equal or near, directly or by way of others. Whatever is one in `exact` is one here."""


def duplicate_groups(texts: Sequence[str]) -> list[int]:
    """A group number a text, counted by first appearance; duplicates and near ones share theirs."""
    return find_duplicates(texts).groups


def find_duplicates(texts: Sequence[str]) -> Duplicates:
    """Which texts are equal, and which are equal or near."""
    numbers: dict[str, int] = {}
    exact = [numbers.setdefault(normalize(text), len(numbers)) for text in texts]
    unique = list(numbers)
    words = [text.split() for text in unique]
    short = [place for place, parts in enumerate(words) if 0 < len(parts) < SHORT_TEXT]
    long = [place for place, parts in enumerate(words) if len(parts) >= SHORT_TEXT]
    groups = np.arange(len(unique))
    for places, sequences, size in (
        (short, [unique[place] for place in short], CHARACTERS_A_SHINGLE),
        (long, [words[place] for place in long], WORDS_A_SHINGLE),
    ):
        if len(places) > 1:
            groups[places] = np.array(places)[_near_groups(sequences, size)]
    renumbered: dict[int, int] = {}
    return Duplicates(
        exact, [renumbered.setdefault(group, len(renumbered)) for group in groups[exact].tolist()]
    )


def _near_groups(sequences: Sequence[Sequence[str]], size: int) -> _Int64s:
    """For each sequence of words or characters the first one that it is connected with."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components

    total = len(sequences)
    owners, shingles = _shingle_sets(sequences, size)
    sets = csr_array((np.ones(len(owners), np.int32), (owners, shingles)))
    sketches = _sketches(owners, shingles, total)
    groups = np.arange(total)
    for first, second in _candidates(owners, shingles, groups):
        low, high = np.minimum(first, second), np.maximum(first, second)
        first, second = np.divmod(_distinct(low * total + high), total)
        first, second = _may_be_near(sketches, np.diff(sets.indptr), first, second)
        near = _are_near(sets, first, second)
        if near.any():
            pairs = (groups[first[near]], groups[second[near]])
            links = coo_array((np.ones(len(pairs[0]), np.int8), pairs), (total, total))
            _, components = connected_components(links, directed=False)
            _, leaders = np.unique(components, return_index=True)
            groups[:] = leaders[components[groups]]
    return groups


def _shingle_sets(sequences: Sequence[Sequence[str]], size: int) -> tuple[_Int64s, _Int64s]:
    """(sequence, shingle) of every set, by sequence; shingles are numbered from the rarest on."""
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(chain(*sequences)))}
    flat = np.fromiter(map(numbers.__getitem__, chain(*sequences)), np.int64)
    lengths = np.array([len(sequence) for sequence in sequences])
    owners = np.repeat(np.arange(len(sequences)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(flat))  # with itself
    runs = flat
    padded = np.append(flat + 1, np.zeros(size, np.int64))
    for step in range(1, size):
        # Beyond the end stands 0, which is no unit: what is shorter than a shingle is one itself.
        following = np.where(left > step, padded[step : step + len(flat)], 0)
        _, runs = np.unique(runs * (len(numbers) + 1) + following, return_inverse=True)
    whole = (left >= size) | (left == lengths[owners])
    owners, runs = owners[whole], runs[whole]
    counts = np.bincount(runs)
    ranks = np.empty(len(counts), np.int64)
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    owners, shingles = np.divmod(_distinct(owners * len(ranks) + ranks[runs]), len(ranks))
    return owners, shingles


def _candidates(
    owners: _Int64s, shingles: _Int64s, groups: _Int64s
) -> Iterator[tuple[_Int64s, _Int64s]]:
    """Pairs that share one of their rarest shingles, block by block; no near pair is missing.

    Texts that are in one of the `groups` by the time a block is made are no pair any more: a
    thousand copies of a form need no half a million comparisons.
    """
    sizes = np.bincount(owners, minlength=len(groups))
    places = np.arange(len(owners)) - (np.cumsum(sizes) - sizes)[owners]
    # A near partner of a set has at least 4/5 of its shingles, so one of the first 1/5 + 1.
    rare = places <= sizes[owners] // 5
    # Shingles in rows, in each the smaller sets first: partners stand close behind one another.
    order = np.lexsort((owners[rare], sizes[owners[rare]], shingles[rare]))
    owners, shingles, places = owners[rare][order], shingles[rare][order], places[rare][order]
    widest = int(sizes.max()) + 1
    largest = np.minimum(sizes[owners] * 5 // 4, widest - 1)
    keys = shingles * widest + sizes[owners]
    ends = np.searchsorted(keys, shingles * widest + largest, side="right")
    before = np.append(0, np.cumsum(ends - np.arange(len(owners)) - 1))
    start = 0
    while start < len(owners):
        end = max(start + 1, int(np.searchsorted(before, before[start] + BLOCK_PAIRS)) - 1)
        rows, partners = _pairs_apart(start, ends[start:end], groups, owners)
        # What comes before the first shared shingle is not shared: enough must be left behind it.
        first, second = sizes[owners[rows]], sizes[owners[partners]]
        most = np.minimum(first - places[rows], second - places[partners])
        fits = _IN_COMMON * most >= _IN_ALL * (first + second)
        yield owners[rows[fits]], owners[partners[fits]]
        start = end


def _pairs_apart(
    start: int, ends: _Int64s, groups: _Int64s, owners: _Int64s
) -> tuple[_Int64s, _Int64s]:
    """Entries from `start` on, each with those between it and its end that are of another group."""
    places = np.arange(start, start + len(ends))
    members = groups[owners[start : int(ends.max())]]
    changes = np.flatnonzero(members[1:] != members[:-1]) + start + 1
    begins = np.append(changes, ends.max())[np.searchsorted(changes, places, side="right")]
    counts = np.maximum(ends - begins, 0)
    rows = np.repeat(places, counts)
    partners = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(len(rows))
    apart = groups[owners[rows]] != groups[owners[partners]]
    return rows[apart], partners[apart]


def _distinct(numbers: _Int64s) -> _Int64s:
    """Each number once, rising. (np.unique hashes, which takes several times as long here.)"""
    numbers = np.sort(numbers)
    return numbers[np.append(True, numbers[1:] != numbers[:-1])] if len(numbers) else numbers


def _sketches(owners: _Int64s, shingles: _Int64s, total: int) -> npt.NDArray[np.uint8]:
    """[sets, SKETCH_BITS / 8] of each set, in bits, how many of its shingles fall on each: odd?"""
    falls = owners * SKETCH_BITS + shingles % SKETCH_BITS
    odd = np.bincount(falls, minlength=total * SKETCH_BITS) & 1
    return np.packbits(odd.reshape(total, SKETCH_BITS).astype(np.bool_), axis=1)


def _may_be_near(
    sketches: npt.NDArray[np.uint8], sizes: _Int64s, first: _Int64s, second: _Int64s
) -> tuple[_Int64s, _Int64s]:
    """The pairs whose sketches do not rule it out: each bit that differs is a shingle not shared.

    Near sets of a and b shingles have at most (a + b) / 9 that are not shared.
    """
    differ = _BITS_SET[sketches[first] ^ sketches[second]].sum(axis=1, dtype=np.int64)
    may = differ * _IN_COMMON <= sizes[first] + sizes[second]
    return first[may], second[may]


def _are_near(sets: Any, first: _Int64s, second: _Int64s) -> npt.NDArray[np.bool_]:
    """Whether the sets of each pair are near; `sets` is a sparse matrix with ones."""
    sizes = np.diff(sets.indptr)
    both = sizes[first] + sizes[second]
    common = np.zeros(len(first), np.int64)
    before = np.concatenate([[0], np.cumsum(both)])
    start = 0
    while start < len(first):
        end = max(start + 1, int(np.searchsorted(before, before[start] + BLOCK_SHINGLES)) - 1)
        block = slice(start, end)
        common[block] = sets[first[block]].multiply(sets[second[block]]).sum(axis=1)
        start = end
    near: npt.NDArray[np.bool_] = common * _IN_COMMON >= both * _IN_ALL
    return near

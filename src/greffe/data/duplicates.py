"""Find exact and near duplicates among texts.

Texts are exact duplicates if their normalized words are equal. They are near duplicates if the
Jaccard similarity of their shingles is at least 0.8 (shingles are three words, or five characters
in short texts, where three words would be half of the text). Such a pair shares at least one of its
rarest shingles: only these candidates are compared, exactly. The result does not depend on the
order of the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from greffe.data.words import normalize

# Two sets of a and b shingles with c in common: c / (a + b - c) ≥ 4/5 iff 9 c ≥ 4 (a + b).
_IN_COMMON, _IN_ALL = 9, 4
SHORT_TEXT = 8  # words: shorter texts are compared by characters
WORDS_PER_SHINGLE = 3
CHARACTERS_PER_SHINGLE = 5
BLOCK_PAIRS = 1 << 19  # candidate pairs processed together
BLOCK_SHINGLES = 1 << 22  # shingles compared together
SKETCH_BITS = 128

_BITS_SET = np.array([value.bit_count() for value in range(256)], np.uint8)
_Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Duplicates:
    """Group numbers per text; texts with the same number belong together."""

    exact: list[int]
    """Equal after normalization."""
    groups: list[int]
    """Exact or near duplicates, directly or through others; coarser than `exact`."""


def duplicate_groups(texts: Sequence[str]) -> list[int]:
    """Return a group number per text, by first appearance; near duplicates share theirs."""
    return find_duplicates(texts).groups


def find_duplicates(texts: Sequence[str]) -> Duplicates:
    """Find exact and near duplicates."""
    numbers: dict[str, int] = {}
    exact = [numbers.setdefault(normalize(text), len(numbers)) for text in texts]
    unique = list(numbers)
    words = [text.split() for text in unique]
    short = [index for index, parts in enumerate(words) if 0 < len(parts) < SHORT_TEXT]
    long = [index for index, parts in enumerate(words) if len(parts) >= SHORT_TEXT]
    groups = np.arange(len(unique))
    for indices, sequences, size in (
        (short, [unique[index] for index in short], CHARACTERS_PER_SHINGLE),
        (long, [words[index] for index in long], WORDS_PER_SHINGLE),
    ):
        if len(indices) > 1:
            groups[indices] = np.array(indices)[_near_groups(sequences, size)]
    renumbered: dict[int, int] = {}
    return Duplicates(
        exact, [renumbered.setdefault(group, len(renumbered)) for group in groups[exact].tolist()]
    )


def _near_groups(sequences: Sequence[Sequence[str]], size: int) -> _Int64s:
    """Return, for each sequence of words or characters, the first one of its group."""
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
    """Return all (sequence, shingle) pairs by sequence; shingles are numbered from the rarest."""
    numbers = {unit: number for number, unit in enumerate(dict.fromkeys(chain(*sequences)))}
    flat = np.fromiter(map(numbers.__getitem__, chain(*sequences)), np.int64)
    lengths = np.array([len(sequence) for sequence in sequences])
    owners = np.repeat(np.arange(len(sequences)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(flat))  # including itself
    runs = flat
    padded = np.append(flat + 1, np.zeros(size, np.int64))
    for step in range(1, size):
        # 0, which is no unit, pads the end: a sequence shorter than a shingle is one itself.
        following = np.where(left > step, padded[step : step + len(flat)], 0)
        _, runs = np.unique(runs * (len(numbers) + 1) + following, return_inverse=True)
    is_full = (left >= size) | (left == lengths[owners])
    owners, runs = owners[is_full], runs[is_full]
    counts = np.bincount(runs)
    ranks = np.empty(len(counts), np.int64)
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    owners, shingles = np.divmod(_distinct(owners * len(ranks) + ranks[runs]), len(ranks))
    return owners, shingles


def _candidates(
    owners: _Int64s, shingles: _Int64s, groups: _Int64s
) -> Iterator[tuple[_Int64s, _Int64s]]:
    """Yield pairs that share one of their rarest shingles, in blocks; includes all near pairs.

    Texts already in the same group are skipped: a thousand copies of a form do not need half a
    million comparisons.
    """
    sizes = np.bincount(owners, minlength=len(groups))
    ranks = np.arange(len(owners)) - (np.cumsum(sizes) - sizes)[owners]
    # A near duplicate has at least 4/5 of a set's shingles, so one of the first 1/5 + 1.
    rare = ranks <= sizes[owners] // 5
    # Sorted by shingle, then by size: partners of similar size are close to each other.
    order = np.lexsort((owners[rare], sizes[owners[rare]], shingles[rare]))
    owners, shingles, ranks = owners[rare][order], shingles[rare][order], ranks[rare][order]
    widest = int(sizes.max()) + 1
    largest = np.minimum(sizes[owners] * 5 // 4, widest - 1)
    keys = shingles * widest + sizes[owners]
    ends = np.searchsorted(keys, shingles * widest + largest, side="right")
    before = np.append(0, np.cumsum(ends - np.arange(len(owners)) - 1))
    start = 0
    while start < len(owners):
        end = max(start + 1, int(np.searchsorted(before, before[start] + BLOCK_PAIRS)) - 1)
        rows, partners = _pairs_apart(start, ends[start:end], groups, owners)
        # Shingles before the first shared one are not shared: enough must remain after it.
        first, second = sizes[owners[rows]], sizes[owners[partners]]
        most = np.minimum(first - ranks[rows], second - ranks[partners])
        fits = _IN_COMMON * most >= _IN_ALL * (first + second)
        yield owners[rows[fits]], owners[partners[fits]]
        start = end


def _pairs_apart(
    start: int, ends: _Int64s, groups: _Int64s, owners: _Int64s
) -> tuple[_Int64s, _Int64s]:
    """Pair each entry from `start` with the entries up to its end that are in another group."""
    entries = np.arange(start, start + len(ends))
    members = groups[owners[start : int(ends.max())]]
    changes = np.flatnonzero(members[1:] != members[:-1]) + start + 1
    begins = np.append(changes, ends.max())[np.searchsorted(changes, entries, side="right")]
    counts = np.maximum(ends - begins, 0)
    rows = np.repeat(entries, counts)
    partners = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(len(rows))
    apart = groups[owners[rows]] != groups[owners[partners]]
    return rows[apart], partners[apart]


def _distinct(numbers: _Int64s) -> _Int64s:
    """Return sorted unique numbers. (np.unique hashes, which is several times slower here.)"""
    numbers = np.sort(numbers)
    return numbers[np.append(True, numbers[1:] != numbers[:-1])] if len(numbers) else numbers


def _sketches(owners: _Int64s, shingles: _Int64s, total: int) -> npt.NDArray[np.uint8]:
    """Return bit sketches [sets, SKETCH_BITS / 8]: the parity of the shingles in each bucket."""
    falls = owners * SKETCH_BITS + shingles % SKETCH_BITS
    odd = np.bincount(falls, minlength=total * SKETCH_BITS) & 1
    return np.packbits(odd.reshape(total, SKETCH_BITS).astype(np.bool_), axis=1)


def _may_be_near(
    sketches: npt.NDArray[np.uint8], sizes: _Int64s, first: _Int64s, second: _Int64s
) -> tuple[_Int64s, _Int64s]:
    """Return the pairs that their sketches do not rule out: a differing bit is an unshared shingle.

    Near duplicates with a and b shingles have at most (a + b) / 9 unshared ones.
    """
    differ = _BITS_SET[sketches[first] ^ sketches[second]].sum(axis=1, dtype=np.int64)
    may = differ * _IN_COMMON <= sizes[first] + sizes[second]
    return first[may], second[may]


def _are_near(sets: Any, first: _Int64s, second: _Int64s) -> npt.NDArray[np.bool_]:
    """Return whether each pair is a near duplicate; `sets` is a sparse matrix of ones."""
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

"""Labelled tables and texts to classify: reading examples, ordering labels, splitting."""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from greffe.config.options import Reading
from greffe.data.columns import (
    find_label,
    find_text,
    label_of,
    notice_duplicates,
    text_of,
)
from greffe.data.files import check_file, split_suffix
from greffe.data.rows import PairTable
from greffe.data.text import open_table
from greffe.errors import DataError
from greffe.seeding import derive

LONGEST_TEXT = 1 << 23  # characters; encoding them takes up to 2 GB
LARGEST_TABLE = 1 << 30  # bytes in memory, where labelled tables are held
BLOCK_TEXTS, BLOCK_CHARACTERS = 512, 1 << 22
_ROW = 160  # bytes, besides the text: its label, the example, the place in a list


@dataclass(frozen=True)
class Example:
    """A text and its label."""

    text: str
    label: str


# --- reading ------------------------------------------------------------------------------------


def read_examples(source: str | Path, options: Reading) -> Iterator[Example]:
    """Yield the examples of a labelled table or of a pair `x.review.spm` and `x.label`."""
    source = str(source)
    pair = PairTable.find(source, options.encoding)
    if pair is None and not source.startswith("hf:"):
        check_file(source)
    table = pair or open_table(source, options)
    if table is None:
        raise DataError(
            f"{source} is not a table with labels.",
            expected=".csv, .tsv, .jsonl or .parquet, or a pair x.review.spm and x.label",
            found=f".{split_suffix(source)[0]}",
            hint="if its lines are label<TAB>text, give it a name that ends in .tsv",
        )
    text = find_text(table, options.text_column)
    label = find_label(table, options.label_column, text=text)
    notice_duplicates(table)
    for number, cells in table.rows([text, label]):
        if cells is not None:
            content = text_of(cells[0], table, number)
            if len(content) > LONGEST_TEXT:
                raise too_long_to_classify(content, f"{table.location(number)}: the text")
            yield Example(content, label_of(cells[1], table, number))


def too_long_to_classify(text: str, name: str) -> DataError:
    """Return the error for a text of more than LONGEST_TEXT characters; `name` says which."""
    return DataError(
        f"{name} has {len(text):,} characters.",
        expected=f"texts of at most {LONGEST_TEXT:,} characters",
        hint="split it into several texts; only pretraining reads documents of any length",
    )


def text_blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts in lists that bounded memory can encode and classify at once."""
    block: list[str] = []
    size = 0
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise DataError(
                f"Text {number} is not text.",
                expected="str",
                found=f"{type(text).__name__}: {text!r:.60}",
            )
        if len(text) > LONGEST_TEXT:
            raise too_long_to_classify(text, f"Text {number}")
        block.append(text)
        size += len(text)
        if len(block) == BLOCK_TEXTS or size >= BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block


def hold(examples: Iterable[Example], name: str) -> list[Example]:
    """Return the examples as a list; DataError if they take more memory than LARGEST_TABLE."""
    held: list[Example] = []
    size = 0
    for example in examples:
        size += sys.getsizeof(example.text) + _ROW
        if size > LARGEST_TABLE:
            raise DataError(
                f"{name} has too many labelled texts.",
                expected=f"a table that takes at most {LARGEST_TABLE >> 30} GiB of memory",
                found=f"more than that in the first {len(held) + 1:,} rows",
                hint="use a part of the rows; greffe predict reads tables of any size",
            )
        held.append(example)
    return held


# --- labels -------------------------------------------------------------------------------------


def label_order(labels: Iterable[str]) -> list[str]:
    """Return the classes, sorted by value if all are numbers; one class is a DataError."""
    classes = set(labels)
    if len(classes) < 2:
        raise DataError(
            "A classifier needs at least two classes.",
            expected="two or more different labels",
            found=f"only {next(iter(classes))!r}" if classes else "no labelled text",
            hint="check --label-column, or whether the rows are sorted and truncated",
        )
    values = {label: _number(label) for label in classes}
    if any(value is None for value in values.values()):
        return sorted(classes)
    return sorted(classes, key=lambda label: (values[label], label))


def _number(label: str) -> float | None:
    try:
        value = float(label)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


# --- splitting ----------------------------------------------------------------------------------


def split_examples(
    examples: Sequence[Example], fraction: float, seed: int, groups: Sequence[int] | None = None
) -> tuple[list[Example], list[Example]]:
    """Split the examples in two, the second part with about `fraction` of each class.

    The order of the examples is kept. Equal texts stay together, and so do examples with the same
    group number if groups are given; equal texts must then be in the same group. The split depends
    only on the texts, their grouping and the seed. A class with at least two different texts (or
    groups) is in both parts, unless texts with several labels prevent it.
    """
    if not 0 < fraction < 1:
        raise DataError(
            "The fraction held out for validation must be between 0 and 1.",
            expected="for example 0.1",
            found=str(fraction),
        )
    keys = [example.text for example in examples] if groups is None else _keys(examples, groups)
    sizes: defaultdict[str, Counter[str]] = defaultdict(Counter)  # label → key → examples
    labels_of: defaultdict[str, set[str]] = defaultdict(set)
    for example, key in zip(examples, keys, strict=True):
        sizes[example.label][key] += 1
        labels_of[key].add(example.label)
    left = {label: len(counts) for label, counts in sizes.items()}  # keys not held out
    held: set[str] = set()

    def hold(key: str) -> bool:
        """Hold out a text or group if each of its classes keeps another one."""
        if any(left[label] < 2 for label in labels_of[key]):
            return False
        for label in labels_of[key]:
            left[label] -= 1
        held.add(key)
        return True

    for label in sorted(sizes, key=lambda label: (len(sizes[label]), label)):  # the rarest first
        counts = sizes[label]
        target = max(1, round(fraction * counts.total()))
        done = sum(count for key, count in counts.items() if key in held)
        drawn = sorted(counts.keys() - held, key=lambda key: (derive(seed, "split", key), key))
        for key in drawn:
            if done + counts[key] <= target and hold(key):
                done += counts[key]
        if done == 0:  # each of them is larger than the fraction allows
            any(hold(key) for key in sorted(drawn, key=lambda key: counts[key]))
    sides: tuple[list[Example], list[Example]] = ([], [])
    for example, key in zip(examples, keys, strict=True):
        sides[key in held].append(example)
    return sides


def _keys(examples: Sequence[Example], groups: Sequence[int]) -> list[str]:
    """Return the smallest text of each example's group, which identifies it in any order."""
    least: dict[int, str] = {}
    for example, group in zip(examples, groups, strict=True):
        least[group] = min(least.get(group, example.text), example.text)
    return [least[group] for group in groups]

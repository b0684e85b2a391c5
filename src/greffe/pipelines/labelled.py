"""Labelled texts for a pipeline: loaded, split, encoded, hashed. Knows no model or training."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import numpy as np
import numpy.typing as npt

from greffe.config.options import LongTexts, Reading, Tables
from greffe.data.tables import (
    LONGEST_TEXT,
    Example,
    hold,
    label_order,
    read_examples,
    split_examples,
    too_long_to_classify,
)
from greffe.data.tokenizer import Tokenizer
from greffe.errors import DataError
from greffe.evaluation.metrics import label_indices
from greffe.inference.prediction import split_windows
from greffe.progress import notice

Examples = str | Path | Sequence[Example] | Sequence[tuple[str, str | int]]
"""A table's path, or from Python examples or pairs of (text, label)."""
VALIDATION_FRACTION = 0.2
FEW_CLASSES = 10


@dataclass(frozen=True)
class LabelledParts:
    """Training and validation examples with their classes."""

    train: list[Example]
    valid: list[Example]
    labels: list[str]

    @property
    def hashes(self) -> dict[str, str]:
        """The hash of each part, for a lineage."""
        return {"train": data_hash(self.train), "valid": data_hash(self.valid)}

    @property
    def sizes(self) -> dict[str, str]:
        """The size of each part, for a lineage."""
        return {"train": f"{len(self.train):,} texts", "valid": f"{len(self.valid):,} texts"}


def load_parts(tables: Tables, reading: Reading, seed: int) -> LabelledParts:
    """Load and check the examples; without a validation table, hold some of them out."""
    examples = load_examples(tables.data, reading)
    if tables.valid is not None:
        train_part, valid_part = examples, load_examples(tables.valid, reading)
    else:
        train_part, valid_part = _hold_out(examples, seed)
    return LabelledParts(train_part, valid_part, check_labels(train_part, valid_part))


def _hold_out(examples: list[Example], seed: int) -> tuple[list[Example], list[Example]]:
    label_order(example.label for example in examples)  # one class: an error before any split
    train_part, valid_part = split_examples(examples, VALIDATION_FRACTION, seed)
    if not valid_part:
        raise DataError(
            "There are too few labelled texts to hold some out.",
            expected="at least two different texts of some class, or --valid FILE",
            found=f"{len(examples)} texts, and no class with two different ones",
            hint="if the wrong columns were read: --text-column NAME --label-column NAME",
        )
    notice(f"no --valid given: {len(valid_part)} of {len(examples)} texts held out, by class")
    return train_part, valid_part


def table_paths(tables: Tables) -> list[str | Path]:
    """Return the tables that are files."""
    given = (tables.data, tables.valid, tables.test, *tables.aux_data)
    return [table for table in given if isinstance(table, str | Path)]


def load_examples(data: Examples, reading: Reading) -> list[Example]:
    """Return all examples of a table, or of a sequence given from Python."""
    if isinstance(data, str | Path):
        name = str(data)
        examples = hold(read_examples(data, reading), name)
    else:
        name = "data"
        examples = hold((_example(item, number) for number, item in enumerate(data, start=1)), name)
    if not examples:
        raise DataError(f"{name} contains no examples.")
    return examples


def _example(item: object, number: int) -> Example:
    """Return an item from Python as an example, or raise DataError."""
    match item:
        case Example(str(text), str(label)) | (str(text), str(label)):
            pass
        case (str(text), Real() as value) if math.isfinite(value):
            label = str(value)
        case _:
            raise DataError(
                f"Item {number} of data is not a text with its label.",
                expected="pairs (text, label), the label a str or an int",
                found=f"{item!r:.80}",
            )
    if len(text) > LONGEST_TEXT:
        raise too_long_to_classify(text, f"Text {number} of data")
    try:
        f"{text}{label}".encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"Item {number} of data is not valid Unicode.",
            expected="text without lone surrogates",
            found=f"{error.object[error.start]!r} at character {error.start}",
        ) from None
    return Example(text, label)


def check_labels(train_part: Sequence[Example], valid_part: Sequence[Example]) -> list[str]:
    """Return the classes in order; raise an error if validation has others."""
    labels = label_order(example.label for example in train_part)
    check_classes(labels, train_part)
    label_indices(labels, [example.label for example in valid_part])
    return labels


def check_classes(labels: Sequence[str], examples: Sequence[Example]) -> None:
    """Raise an error if most texts have a label of their own: the wrong columns were read."""
    if len(labels) > max(FEW_CLASSES, len(examples) // 2):
        shown = examples[0]
        raise DataError(
            f"{len(examples)} texts have {len(labels)} different labels.",
            expected="several texts per label",
            found=f"label {shown.label[:40]!r} for the text {shown.text[:40]!r}, and so on",
            hint="name the columns: --text-column NAME --label-column NAME",
        )


@dataclass(frozen=True)
class LabelledRows:
    """Texts as `<sos> ids <eos>`, and the class of each row; a long text has several rows."""

    ids: list[npt.NDArray[np.int64]]
    targets: npt.NDArray[np.int64]
    texts: npt.NDArray[np.int64]
    """Index of each row's text."""


def encode_rows(
    parts: LabelledParts, tokenizer: Tokenizer, context: int, long: LongTexts
) -> LabelledRows:
    """Encode the training texts; a notice says what happens to texts longer than the context."""
    targets = label_indices(parts.labels, [example.label for example in parts.train])
    documents = tokenizer.encode_all(example.text for example in parts.train)
    most = context - 2  # tokens between <sos> and <eos>
    windows = [split_windows(ids, most, long) for ids in documents]
    beyond = [len(ids) - most for ids in documents if len(ids) > most]
    if beyond:
        fraction = sum(beyond) / sum(len(ids) for ids in documents)
        what = (
            f"only their beginning and leaves out {fraction:.1%} of all tokens "
            "(--set classification.long=windows reads everything)"
        )
        if long == "windows":
            what = f"them in windows, {sum(map(len, windows)):,} rows in all"
        notice(
            f"{len(beyond)} of {len(documents)} texts are longer than the context, "
            f"{context} tokens: training reads {what}"
        )
    counts = [len(some) for some in windows]
    return LabelledRows(
        [tokenizer.wrap(part) for some in windows for part in some],
        np.repeat(targets, counts),
        np.repeat(np.arange(len(windows)), counts),
    )


def data_hash(examples: Sequence[Example]) -> str:
    """Return the SHA-256 of labels and texts, in order."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(f"{example.label}\t{example.text}\n".encode())
    return digest.hexdigest()

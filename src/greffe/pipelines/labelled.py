"""Labelled texts for a stage: loaded, split, encoded, hashed. Knows no model and no training."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from greffe.config.classification import LongTexts
from greffe.config.options import Reading
from greffe.data.tables import Example, label_order, read_examples, split_examples
from greffe.data.tokenizer import Tokenizer
from greffe.errors import DataError
from greffe.evaluation.metrics import label_indices
from greffe.inference.predict import split_windows
from greffe.progress import notice

Examples = str | Path | Sequence[Example] | Sequence[tuple[str, str | int]]
"""A table's path, or from Python examples or pairs of (text, label)."""
VALIDATION_SHARE = 0.2
FEW_CLASSES = 10


def load_parts(
    data: Examples, valid: Examples | None, options: Reading, seed: int
) -> tuple[list[Example], list[Example]]:
    """Training and validation examples; without a validation file a part is held out."""
    examples = load_examples(data, options)
    if valid is not None:
        return examples, load_examples(valid, options)
    label_order(example.label for example in examples)  # one class: an error before any split
    train_part, valid_part = split_examples(examples, VALIDATION_SHARE, seed)
    if not valid_part:
        raise DataError(
            "There are too few labelled texts to hold some out.",
            expected="at least two texts of some class, or --valid FILE",
            found=f"{len(examples)} texts, each with a label of its own",
            hint="if the columns were mistaken: --text-column NAME --label-column NAME",
        )
    notice(f"no --valid given: {len(valid_part)} of {len(examples)} texts held out, by class")
    return train_part, valid_part


def load_examples(data: Examples, options: Reading) -> list[Example]:
    """All examples of a table, or of a sequence given from Python."""
    if isinstance(data, str | Path):
        examples = list(read_examples(data, options))
    else:
        examples = [
            item if isinstance(item, Example) else Example(item[0], str(item[1])) for item in data
        ]
    if not examples:
        raise DataError(f"{data if isinstance(data, str | Path) else 'data'} holds no example.")
    return examples


def check_labels(train_part: Sequence[Example], valid_part: Sequence[Example]) -> list[str]:
    """The classes in their order; an error if they are none, or validation has others."""
    labels = label_order(example.label for example in train_part)
    check_classes(labels, train_part)
    label_indices(labels, [example.label for example in valid_part])
    return labels


def check_classes(labels: Sequence[str], examples: Sequence[Example]) -> None:
    """Classes are few: a label of its own for most texts means that the columns were mistaken."""
    if len(labels) > max(FEW_CLASSES, len(examples) // 2):
        shown = examples[0]
        raise DataError(
            f"{len(examples)} texts have {len(labels)} different labels.",
            expected="several texts a label",
            found=f"label {shown.label[:40]!r} for the text {shown.text[:40]!r}, and so on",
            hint="name the columns: --text-column NAME --label-column NAME",
        )


@dataclass(frozen=True)
class LabelledRows:
    """Texts as `<sos> ids <eos>`, and the class of each row; a long text has several rows."""

    ids: list[npt.NDArray[np.int64]]
    targets: npt.NDArray[np.int64]


def encode_rows(
    examples: Sequence[Example],
    targets: npt.NDArray[np.int64],
    tokenizer: Tokenizer,
    context: int,
    long: LongTexts,
) -> LabelledRows:
    """What training reads of each text; what happens to those beyond the context is said."""
    documents = tokenizer.encode_batch([example.text for example in examples])
    room = context - 2
    parts = [split_windows(ids, room, long) for ids in documents]
    beyond = [len(ids) - room for ids in documents if len(ids) > room]
    if beyond:
        share = sum(beyond) / sum(len(ids) for ids in documents)
        what = (
            f"their beginning, {share:.1%} of all tokens are not read "
            "(--set classification.long=windows reads all)"
        )
        if long == "windows":
            what = f"them in windows, {sum(map(len, parts)):,} rows in all"
        notice(
            f"{len(beyond)} of {len(documents)} texts are longer than the context, "
            f"{context} tokens: training reads {what}"
        )
    return LabelledRows(
        [tokenizer.wrap(part) for windows in parts for part in windows],
        np.repeat(targets, [len(windows) for windows in parts]),
    )


def data_hash(examples: Sequence[Example]) -> str:
    """SHA-256 of labels and texts in their order."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(f"{example.label}\t{example.text}\n".encode())
    return digest.hexdigest()

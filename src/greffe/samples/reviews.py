"""The shipped reviews: 1,000 labelled ones in fixed parts, 300 without a label, all in French.

Where they come from and what they are not: reviews_fr/README.md. Knows nothing of tokenizers or
models.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Literal

Part = Literal["train", "valid", "test"]


def reviews_folder() -> Path:
    """Where the files are: train.tsv, valid.tsv, test.tsv and unlabelled.txt."""
    return Path(str(resources.files("greffe.samples") / "reviews_fr"))


def reviews(part: Part) -> list[tuple[str, str]]:
    """(label, text) of one part; the label is 1 for praise, 0 for blame."""
    rows = (line.partition("\t") for line in _lines(f"{part}.tsv"))
    return [(label, text) for label, _, text in rows]


def unlabelled() -> list[str]:
    """Reviews without a label."""
    return _lines("unlabelled.txt")


def _lines(name: str) -> list[str]:
    return (reviews_folder() / name).read_text("utf-8").removesuffix("\n").split("\n")

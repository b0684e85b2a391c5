"""The shipped French reviews: 1,000 labelled ones in fixed splits, 300 unlabelled ones,
and auxiliary ones of films, restaurants, hotels and things.

Their origin and limits are described in reviews_fr/README.md.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Literal

Split = Literal["train", "valid", "test", "auxiliary"]


def reviews_folder() -> Path:
    """Return the folder with train.tsv, valid.tsv, test.tsv, auxiliary.tsv and unlabelled.txt."""
    return Path(str(resources.files("greffe.samples") / "reviews_fr"))


def reviews(split: Split) -> list[tuple[str, str]]:
    """Return (label, text) pairs of one split; label 1 is positive, 0 negative."""
    rows = (line.partition("\t") for line in _lines(f"{split}.tsv"))
    return [(label, text) for label, _, text in rows]


def unlabelled() -> list[str]:
    """Return the reviews without labels."""
    return _lines("unlabelled.txt")


def _lines(name: str) -> list[str]:
    return (reviews_folder() / name).read_text("utf-8").removesuffix("\n").split("\n")

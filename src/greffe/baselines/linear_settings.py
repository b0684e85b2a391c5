"""What linear.json says: the settings of a linear classifier and its vocabularies, checked."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from greffe.baselines.tfidf import BLOCKS
from greffe.config.spec import Spec
from greffe.errors import CorruptError
from greffe.storage import read_json

LINEAR_FILE = "linear.json"


class LinearSettings(Spec):
    """The content of linear.json."""

    format: Literal[1] = 1
    classes: int
    texts: int
    """Texts that it was fitted to; 0 for a blend."""
    c: float
    """Inverse strength of the penalty, chosen by cross-validation; 0 if nothing was fitted."""
    base_weight: float | None
    """Length of the base's vectors beside the other features; none without both."""
    log_loss: float | None
    accuracy: float | None
    """Cross-validated, for the chosen setting; none if there were too few texts."""
    base_columns: int
    run_columns: list[int] = Field(default_factory=list)
    """Classes of each teacher."""
    auxiliary: int = 0
    """Texts of other people that it learnt from too."""
    vocabularies: dict[str, list[str]] | None = None
    """Terms of each TF-IDF block; none without TF-IDF."""
    hashes: dict[str, str] = Field(default_factory=dict)


def read_settings(folder: Path) -> LinearSettings:
    """What linear.json says, checked."""
    path = folder / LINEAR_FILE
    try:
        settings = LinearSettings.model_validate(read_json(path, "a linear classifier"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise CorruptError(
            f"{path} is damaged or from another version.",
            expected="a linear classifier of format 1",
            found=f"{'.'.join(map(str, first['loc']))}: {first['msg']}",
        ) from None
    known = settings.vocabularies
    if (known is not None and not set(known) <= set(BLOCKS)) or (
        settings.hashes.get("vocabularies") != terms_hash(known)
    ):
        raise CorruptError(
            f"{path} is damaged: its vocabularies are not those that were saved.",
            hint="copy the run again from where it came, or make it anew",
        )
    return settings


def terms_hash(vocabularies: dict[str, list[str]] | None) -> str:
    """SHA-256 of all terms in their order."""
    digest = hashlib.sha256()
    for name, terms in sorted((vocabularies or {}).items()):
        digest.update(f"{name}\n".encode())
        digest.update("\n".join(terms).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()

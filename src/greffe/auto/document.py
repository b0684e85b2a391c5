"""What `greffe fit` found, as one document: fit.json. Pages and terminal tables are made of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from greffe.config.spec import Spec
from greffe.evaluation.intervals import Estimate

FIT_FILE = "fit.json"
OTHER = "@"
"""In the name of a model, before that of its base, if it is not the first one."""
TIMES = "×"
"""In the name of a model, before the number of trainings that are averaged."""


class Rung(Spec):
    """One model of the ladder, with its cross-validated accuracy."""

    name: str
    accuracy: Estimate
    over: str | None = None
    """The best rung before it."""
    gain: Estimate | None = None
    """Its accuracy minus that of the best rung before it, on the same texts."""
    seconds: float = Field(ge=0)
    """Cross-validation, and the final training if the model was chosen."""
    size: int | None = None
    """Bytes on disk of the final model, if it was chosen."""
    stopped_after: int | None = None
    """Folds after which it was given up: it could not win any more."""


class Stage(Spec):
    """Work that the models share, such as pretraining."""

    name: Literal["semantics", "pretraining", "intermediate"]
    seconds: float = Field(ge=0)
    size: int | None
    """Bytes on disk; None: nothing is kept."""


class FitDocument(Spec):
    """The data, the ladder, the choice and what to expect of it."""

    format: Literal[1] = 1
    created: str
    labels: list[str]
    texts: int
    auxiliary: int
    """Number of auxiliary texts."""
    unlabelled: list[str]
    """Names of the files without labels."""
    bases: list[str]
    """The bases that were given, or the one that ships; empty: a new one, or none at all."""
    budget: float
    seconds: float
    """Spent in all."""
    folds: int
    repeats: int
    stages: list[Stage]
    rungs: list[Rung]
    skipped: dict[str, float]
    """Models that were not tried, and the seconds that they would have needed at least."""
    chosen: list[str]
    """The models of the final ensemble, or the only one."""
    expected: Estimate
    """Accuracy to expect on new texts, corrected for the choice among several models."""
    over_tfidf: Estimate | None
    """Cross-validated accuracy of the final model minus that of TF-IDF; None if it is TF-IDF."""
    doubling: Estimate | None
    """What the last doubling of the labels brought TF-IDF."""
    advice: list[str]
    """Ids of the sentences on what to do next."""
    findings: list[str]
    """Serious findings of the doctor."""

    @property
    def final(self) -> Rung:
        """The rung of the model that was written."""
        name = self.chosen[0] if len(self.chosen) == 1 else "ensemble"
        return next(rung for rung in self.rungs if rung.name == name)

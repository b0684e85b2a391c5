"""Other people's labelled texts beside one's own, in one linear model.

Every text has the words that all of them share; one's own texts also have features that nobody else
has. What holds for all is learnt from all, and one's own features say where one's own texts differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from greffe.baselines.regression import Regression, Solution, softmax
from greffe.baselines.selection import DEFAULT_PENALTY, Choice, judge
from greffe.baselines.tfidf import SHARED, Tfidf
from greffe.data.tables import Example
from greffe.evaluation.metrics import label_indices
from greffe.progress import Progress

WEIGHT = 0.3
"""What a text of others counts beside one of one's own, before classes are balanced."""
PENALTIES = (3.0, 10.0, 30.0)
TOLERANCE = 1e-4
"""A model of so many texts need not be solved to the last digit."""


@dataclass(frozen=True)
class AuxiliaryData:
    """Texts of others, their class numbers [M], and how much each counts [M]."""

    texts: list[str]
    targets: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, tables: Sequence[Sequence[Example]], labels: list[str]) -> AuxiliaryData:
        """All tables; inside each of them every class counts the same."""
        target_arrays = [label_indices(labels, [one.label for one in table]) for table in tables]
        return cls(
            [one.text for table in tables for one in table],
            np.concatenate(target_arrays),
            np.concatenate([_balanced(targets) for targets in target_arrays]),
        )


def _balanced(targets: np.ndarray) -> np.ndarray:
    counts = np.bincount(targets)
    weights: np.ndarray = WEIGHT * len(targets) / (np.count_nonzero(counts) * counts[targets])
    return weights


def share_words(
    auxiliary: AuxiliaryData, texts: Sequence[str], own: Tfidf | None, rows: Any
) -> tuple[Tfidf, Any, Any]:
    """TF-IDF with the shared words at its end; its rows for one's own texts, and for theirs.

    Theirs are empty but for the shared words.
    """
    from scipy import sparse

    shared, words = Tfidf.fit([*texts, *auxiliary.texts], SHARED)
    mine, theirs = words[: len(texts)], words[len(texts) :]
    if own is None:
        return shared, mine, theirs
    both = Tfidf(own.vocabularies | shared.vocabularies, own.idf | shared.idf)
    nothing = sparse.csr_array((len(auxiliary.texts), own.columns), dtype=np.float32)
    return both, _side_by_side(rows, mine), _side_by_side(nothing, theirs)


def fit_with_auxiliary(
    auxiliary: AuxiliaryData,
    theirs: Any,
    rows: Any,
    targets: np.ndarray,
    classes: int,
    folds: np.ndarray,
    base_weight: float,
) -> tuple[Choice, Solution]:
    """Choose C on one's own texts, each fold fitted to the others and to all of theirs; then fit.

    rows [N, D] are one's own; theirs [M, TF-IDF columns] have nothing in the columns behind.
    """
    from scipy import sparse

    rest = sparse.csr_array((theirs.shape[0], rows.shape[1] - theirs.shape[1]), dtype=np.float32)
    theirs = _side_by_side(theirs, rest)

    def regression(places: np.ndarray) -> Regression:
        return Regression(
            sparse.vstack((rows[places], theirs), format="csr"),
            np.append(targets[places], auxiliary.targets),
            classes,
            weights=np.append(np.ones(len(places)), auxiliary.weights),
            tolerance=TOLERANCE,
        )

    choice = Choice(DEFAULT_PENALTY, base_weight, None, None)
    parts = np.unique(folds[folds >= 0])
    if len(parts):
        guesses = {c: np.zeros((len(targets), classes)) for c in PENALTIES}
        with Progress("cross-validate beside others", len(parts) * len(PENALTIES)) as progress:
            for part in parts:
                fitted, tested = regression(np.flatnonzero(folds != part)), folds == part
                for c, guess in guesses.items():
                    solution = fitted.solve(c)
                    guess[tested] = softmax(rows[tested] @ solution.weights + solution.bias)
                    progress.advance(1)
        held_out = folds >= 0
        judged = [
            judge(c, base_weight, guess[held_out], targets[held_out])
            for c, guess in guesses.items()
        ]
        choice = min(judged, key=lambda pair: pair[0])[1]
    return choice, regression(np.arange(len(targets))).solve(choice.c)


def _side_by_side(left: Any, right: Any) -> Any:
    from scipy import sparse

    return sparse.hstack((left, right), format="csr")

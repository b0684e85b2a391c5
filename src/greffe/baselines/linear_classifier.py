"""One logistic regression over TF-IDF, a base's features and the class scores of other runs.

Auxiliary data can take part in the same fit, and directions found in texts without labels. The
penalty and the weight of the dense features are chosen by cross-validation inside the training
texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field

from greffe.baselines.auxiliary_data import (
    AUXILIARY_PENALTIES,
    AUXILIARY_TOLERANCE,
    AuxiliaryData,
    add_shared_words,
)
from greffe.baselines.cross_validation import BASE_WEIGHTS, NEVER, Choice, assign_folds, choose
from greffe.baselines.features import BaseReader, FeatureCache, Reader, run_features
from greffe.baselines.latent import LatentSemantics
from greffe.baselines.logistic_regression import Compact, FeatureRows, Regression, Solution, softmax
from greffe.baselines.tfidf import SHARED, Tfidf, check_terms
from greffe.config.bounds import Fraction
from greffe.config.recorded import LARGEST_COUNT, Count
from greffe.config.spec import Spec
from greffe.data.tables import Example
from greffe.errors import RecipeError, TrainingError
from greffe.evaluation.metrics import label_indices
from greffe.inference.forward import require_finite
from greffe.run import RunDirectory
from greffe.seeding import rng

COMPACT_TEXTS = 4_000
"""Up to so many texts, C is chosen and the solution found on the Gram matrix."""

LARGEST_FEATURE = 1e18
"""Squares of larger ones overflow single precision: the model they come from has diverged."""

LEAST_SPREAD = 1e-5
"""Standard deviation of a column, relative to its largest value, from which on it is a feature."""


class LinearSettings(Spec):
    """How a linear classifier was fitted: the content of linear.json."""

    format: Literal[1] = 1
    classes: int = Field(ge=2, le=LARGEST_COUNT)
    texts: Count
    """Training texts; 0 for an ensemble."""
    c: float = Field(ge=0)
    """Inverse strength of the penalty, chosen by cross-validation; 0 for an ensemble."""
    base_weight: float | None = Field(ge=0)
    """Length of the base's vectors relative to the other features; None without both."""
    log_loss: float | None = Field(ge=0)
    """Cross-validated, with the chosen setting; None if there were too few texts."""
    accuracy: Fraction | None
    """As `log_loss`."""
    base_columns: Count
    run_columns: list[Count] = Field(default_factory=list)
    """Number of classes of each feature run."""
    auxiliary: Count = 0
    """Number of auxiliary texts."""
    latent: Count = 0
    """Directions of the texts without labels; their terms are a TF-IDF block of their own."""
    vocabularies: dict[str, list[str]] | None = None
    """Terms of each TF-IDF block, in the file only; None without TF-IDF."""
    hashes: dict[str, str] = Field(default_factory=dict)


class LinearClassifier:
    """Class probabilities from features times weights; made by `fit_linear` or read from a file."""

    def __init__(
        self,
        settings: LinearSettings,
        *,
        tfidf: Tfidf | None,
        base: BaseReader | None,
        feature_runs: Sequence[Reader] = (),
        mean: np.ndarray,
        scale: np.ndarray,
        weights: np.ndarray,
        bias: np.ndarray,
    ) -> None:
        self.settings = settings
        self.tfidf = tfidf
        self.base = base
        self.feature_runs = feature_runs
        self.mean = mean  # [D]: the base's columns, then those of each feature run
        self.scale = scale  # [D]: factors of the centered features
        self.weights = weights  # [TF-IDF columns + D, classes]
        self.bias = bias  # [classes]

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """Return class probabilities [N, classes], float64."""
        scores = np.tile(self.bias, (len(texts), 1))
        columns = self.tfidf.columns if self.tfidf is not None else 0
        if self.tfidf is not None and texts:
            scores += self.tfidf.transform(texts) @ self.weights[:columns]
        readers = [*([] if self.base is None else [self.base]), *self.feature_runs]
        if readers and texts:
            vectors = np.hstack([reader.features(texts) for reader in readers])
            scores += (vectors - self.mean) * self.scale @ self.weights[columns:]
        require_finite(scores)
        return softmax(scores)


def fit_linear(
    examples: Sequence[Example],
    labels: list[str],
    *,
    tfidf: bool,
    base: RunDirectory | BaseReader | None,
    feature_runs: Sequence[Reader] = (),
    auxiliary: AuxiliaryData | None = None,
    latent: LatentSemantics | None = None,
    seed: int,
) -> LinearClassifier:
    """Choose C, and the weight of dense features beside others, then fit to labelled texts.

    A `FeatureCache` as base reads each text once.
    """
    texts = [example.text for example in examples]
    check_features(
        texts,
        tfidf=tfidf,
        has_others=bool(base or feature_runs or latent),
        auxiliary=auxiliary,
    )
    targets = label_indices(labels, [example.label for example in examples])
    reader = FeatureCache(base) if isinstance(base, RunDirectory) else base
    vectorizers, terms = Tfidf.fit(texts) if tfidf else (None, None)
    shared = None
    if auxiliary is not None:
        vectorizers, terms, shared = add_shared_words(vectorizers, terms, texts, auxiliary)
    base_mean, base_scale, base_rows = _standardize([reader.features(texts)] if reader else [])
    run_mean, run_scale, scores = _standardize(run_features(feature_runs, texts))
    folded = _Latent.of(latent, texts) if latent is not None else None
    dense = [*([] if base_rows is None else [base_rows]), *([folded.rows] if folded else [])]
    rows = FeatureRows(terms, np.hstack(dense) if dense else None, scores)
    is_weighted = bool(dense) and (vectorizers is not None or bool(feature_runs))
    base_weights = BASE_WEIGHTS if is_weighted else (1.0,)
    fit = _Fit(rows, texts, targets, len(labels), base_weights, seed)
    if auxiliary is None:
        choice, solution = fit.alone()
    else:
        choice, solution = fit.with_auxiliary(auxiliary, shared)
    if folded is not None:
        columns = (vectorizers.columns if vectorizers else 0) + len(base_mean)
        solution = folded.fold(solution, choice.base_weight, columns, len(base_mean))
        own = folded.latent.tfidf
        vectorizers = own if vectorizers is None else vectorizers | own
    return LinearClassifier(
        LinearSettings(
            classes=len(labels),
            texts=len(texts),
            c=choice.c,
            base_weight=choice.base_weight if is_weighted else None,
            log_loss=choice.log_loss,
            accuracy=choice.accuracy,
            base_columns=len(base_mean),
            run_columns=[feature_run.columns for feature_run in feature_runs],
            auxiliary=len(auxiliary.texts) if auxiliary else 0,
            latent=latent.columns if latent else 0,
        ),
        tfidf=vectorizers,
        base=reader,
        feature_runs=feature_runs,
        mean=np.append(base_mean, run_mean),
        scale=np.append(base_scale * np.float32(choice.base_weight), run_scale),
        weights=solution.weights.astype(np.float32),
        bias=solution.bias.astype(np.float32),
    )


def fit_vectors(
    vectors: np.ndarray, texts: Sequence[str], targets: np.ndarray, classes: int, seed: int
) -> tuple[Choice, Solution]:
    """Choose C, then fit to the vectors of texts [N, columns]; return weights for them as they are.

    The features are the standardized columns; equal texts are in the same fold.
    """
    # The weights of a column that hardly varies would be too large for single precision.
    varies = vectors.std(axis=0) > LEAST_SPREAD * np.abs(vectors).max(axis=0)
    mean, scale, rows = _standardize([vectors * varies])
    assert rows is not None
    fit = _Fit(FeatureRows(None, rows), texts, targets, classes, (1.0,), seed)
    choice, solution = fit.alone()
    weights = solution.weights * scale[:, None]
    return choice, Solution(weights, solution.bias - mean @ weights)


def check_features(
    texts: Sequence[str], *, tfidf: bool, has_others: bool, auxiliary: AuxiliaryData | None
) -> None:
    """Raise an error if there is nothing to fit: no features, or texts without a term.

    `has_others` says whether a base or feature runs add features. A caller can check this before
    any work.
    """
    if not tfidf and not has_others:
        raise RecipeError(
            "There are no features to learn from.",
            expected="at least one of: TF-IDF, a base's features, a feature run",
            hint="leave out --no-tfidf, or add --from RUN or --features-from RUN",
        )
    if tfidf:
        check_terms(texts)
    if auxiliary is not None:
        check_terms([*texts, *auxiliary.texts], SHARED)


# --- steps of the fit ---------------------------------------------------------------------------


def _standardize(
    blocks: Sequence[np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return mean and factor of all columns, and the standardized blocks side by side, if any.

    The factors give the rows of each block a mean length of about one.
    """
    from sklearn.preprocessing import StandardScaler

    if not blocks:
        return np.empty(0, np.float32), np.empty(0, np.float32), None
    if (largest := max(np.abs(block).max() for block in blocks)) > LARGEST_FEATURE:
        raise TrainingError(
            "The features are too large to fit a linear model.",
            expected=f"values up to {LARGEST_FEATURE:.0e}",
            found=f"{largest:.3g}",
            hint="train the model that computes them again, with a lower learning rate",
        )
    scalers = [StandardScaler().fit(block) for block in blocks]
    mean = np.concatenate([scaler.mean_ for scaler in scalers]).astype(np.float32)
    factors = [1 / (scaler.scale_ * np.sqrt(len(scaler.scale_))) for scaler in scalers]
    scale = np.concatenate(factors).astype(np.float32)
    return mean, scale, (np.hstack(blocks) - mean) * scale


@dataclass(frozen=True)
class _Latent:
    """The texts' places on the directions of texts without labels [N, dimensions].

    Centered, and with a mean length of one. Unlike a base's features they are not standardized:
    the first directions are the ones that matter.
    """

    latent: LatentSemantics
    rows: np.ndarray
    mean: np.ndarray
    scale: float

    @classmethod
    def of(cls, latent: LatentSemantics, texts: Sequence[str]) -> Self:
        features = latent.features(texts)
        mean = features.mean(axis=0)
        centered = features - mean
        scale = 1 / max(float(np.sqrt((centered**2).sum(axis=1).mean())), 1e-6)
        return cls(latent, centered * np.float32(scale), mean, scale)

    def fold(self, solution: Solution, weight: float, start: int, base_columns: int) -> Solution:
        """Turn the weights of the directions, from row `start` on, into weights of their terms.

        The terms' weights come behind those of the other terms, before the base's columns.
        """
        stop = start + self.latent.columns
        weights = solution.weights[start:stop] * (weight * self.scale)
        first, rest = np.split(np.delete(solution.weights, slice(start, stop), axis=0), [start])
        terms, base = np.split(first, [start - base_columns])
        return Solution(
            np.vstack((terms, self.latent.directions @ weights, base, rest)),
            solution.bias - self.mean @ weights,
        )


@dataclass(frozen=True)
class _Fit:
    """Features and class numbers of the training texts, ready to choose a setting and fit."""

    rows: FeatureRows
    texts: Sequence[str]
    targets: np.ndarray
    classes: int
    base_weights: Sequence[float]
    seed: int

    def alone(self) -> tuple[Choice, Solution]:
        """Choose by cross-validation, then fit on all texts."""
        inside, folds = self._sample()
        compact = Compact(self.rows.take(inside))
        choice = choose(compact.rows, self.base_weights, self.targets[inside], self.classes, folds)
        regression = Regression(self.classes)
        if len(inside) < len(self.texts):
            rows = self.rows.stacked(choice.base_weight)
            return choice, regression.fit(rows, self.targets, choice.c)
        rows = compact.rows(choice.base_weight)
        solution = regression.fit(rows, self.targets, choice.c)
        weights = compact.expand(rows, solution.weights, choice.base_weight)
        return choice, Solution(weights, solution.bias)

    def with_auxiliary(self, auxiliary: AuxiliaryData, shared: Any) -> tuple[Choice, Solution]:
        """Choose C on your own texts with all auxiliary texts in every training part, then fit.

        `shared` [M, shared words] are the auxiliary rows: the last TF-IDF columns, others are zero.
        """
        from scipy import sparse

        inside, folds = self._sample()
        weight = 1.0
        if len(self.base_weights) > 1:  # chosen without the auxiliary texts
            compact, targets = Compact(self.rows.take(inside)), self.targets[inside]
            chosen = choose(compact.rows, self.base_weights, targets, self.classes, folds)
            weight = chosen.base_weight
        own = self.rows.stacked(weight)
        shape = len(auxiliary.texts), own.shape[1]
        columns = shared.indices + (self.rows.terms.shape[1] - shared.shape[1])
        others = sparse.csr_array((shared.data, columns, shared.indptr), shape=shape)
        rows = sparse.vstack((own, others), format="csr")
        targets = np.append(self.targets, auxiliary.targets)
        sample_weight = np.append(np.ones(len(self.texts)), auxiliary.weights)
        fold_of = dict(zip((self.texts[index] for index in inside), folds, strict=True))
        numbers = [fold_of.get(text, NEVER) for text in self.texts] + [NEVER] * len(auxiliary.texts)
        choice = choose(
            lambda _: rows,
            (weight,),
            targets,
            self.classes,
            np.array(numbers),
            penalties=AUXILIARY_PENALTIES,
            sample_weight=sample_weight,
            tolerance=AUXILIARY_TOLERANCE,
        )
        regression = Regression(self.classes, AUXILIARY_TOLERANCE)
        return choice, regression.fit(rows, targets, choice.c, sample_weight)

    def _sample(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices of the texts to choose on, and their folds.

        All texts, or a sample of many: C is the width of a prior and does not grow with the texts.
        """
        indices: np.ndarray = np.arange(len(self.texts))
        if len(indices) > COMPACT_TEXTS:
            draw = rng(self.seed, "choosing")
            indices = np.sort(draw.choice(len(indices), COMPACT_TEXTS, replace=False))
        texts = [self.texts[index] for index in indices]
        return indices, assign_folds(texts, self.targets[indices], self.seed)

"""Paired comparison of two arms: sign-flip test over seeds, McNemar's test over texts.

Both tests are exact where possible. Holm's correction adjusts for several comparisons, and the
smallest detectable difference says what a study of this size could have found.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greffe.config.spec import Spec
from greffe.evaluation.intervals import Estimate, crossed_error, crossed_estimate
from greffe.seeding import rng

EXACT_SEEDS = 16
"""Up to this number of seeds, all sign patterns are enumerated."""
POWER = 0.8
SIGNIFICANCE = 0.05


class McNemar(Spec):
    """Test texts on which two arms differ, by the mean prediction of each arm's seeds."""

    only_first: int
    """Texts that only the first arm classifies correctly."""
    only_second: int
    """Texts that only the second arm classifies correctly."""
    p: float
    """Exact and two-sided."""


class PairedResult(Spec):
    """Comparison of two arms on the same texts, paired by seed."""

    difference: Estimate
    """First minus second, over seeds and texts."""
    p: float
    """p-value of the sign-flip test over seeds, or of McNemar's test with one seed per arm."""
    smallest_p: float
    """The smallest p-value that this test can return."""
    smallest_detectable: float
    """The smallest true difference that is found with 80% power at the 5% level."""


def compare_correct(first: np.ndarray, second: np.ndarray) -> PairedResult:
    """Compare two tables [seeds, texts] of correct predictions, paired row by row.

    A deterministic arm has one row, which is compared with every row of the other.
    """
    assert first.shape[1] == second.shape[1]
    assert len(first) == len(second) or 1 in (len(first), len(second))
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    difference = crossed_estimate(differences)
    if len(differences) == 1:
        over_texts = mcnemar(first[0], second[0])
        p = over_texts.p
        signs = over_texts.only_first + over_texts.only_second
    else:
        p = sign_flip_p(difference.values)
        signs = len(differences)
    return PairedResult(
        difference=difference,
        p=p,
        smallest_p=smallest_sign_flip_p(signs),
        smallest_detectable=smallest_detectable(differences),
    )


def mcnemar(first_correct: np.ndarray, second_correct: np.ndarray) -> McNemar:
    """Run McNemar's exact test on two boolean arrays [texts] of correct predictions."""
    from scipy import stats

    first, second = np.asarray(first_correct, bool), np.asarray(second_correct, bool)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    differing = only_first + only_second
    p = float(stats.binomtest(only_first, differing).pvalue) if differing else 1.0
    return McNemar(only_first=only_first, only_second=only_second, p=p)


def sign_flip_p(differences: Sequence[float] | np.ndarray) -> float:
    """Return the two-sided p-value of a mean difference [seeds] under random signs.

    Exact up to EXACT_SEEDS; beyond, as many sign patterns as EXACT_SEEDS have are drawn.
    """
    from scipy import stats

    figures = np.asarray(differences, dtype=np.float64)
    total = float(np.abs(figures).sum())
    if len(figures) < 2 or total == 0:
        return 1.0  # scipy requires two observations

    def distance(values: np.ndarray, axis: int) -> np.ndarray:
        # Rounded, so that equal sums are equal whatever the order of their terms.
        rounded: np.ndarray = np.abs(values.sum(axis=axis)).round(9)
        return rounded

    result = stats.permutation_test(
        (figures / total,),
        distance,
        permutation_type="samples",
        vectorized=True,
        n_resamples=2**EXACT_SEEDS,
        batch=2**12,
        alternative="greater",
        rng=rng(0, "sign flips", len(figures)),
    )
    return float(result.pvalue)


def smallest_sign_flip_p(signs: int) -> float:
    """Return the p-value if all seeds agree in sign, the smallest possible one."""
    return min(1.0, 2.0 ** (1 - signs))


def holm(ps: Sequence[float]) -> list[float]:
    """Return Holm-adjusted p-values, in the given order."""
    order = np.argsort(ps, kind="stable")
    scaled = np.asarray(ps, dtype=np.float64)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(p) for p in adjusted]


def smallest_detectable(differences: np.ndarray) -> float:
    """Return the smallest true mean difference that is found with 80% power at the 5% level.

    Found means that the interval excludes zero; the sign-flip test may need more seeds.
    """
    error = crossed_error(np.asarray(differences, dtype=np.float64))
    return error.margin(1 - SIGNIFICANCE / 2) + error.margin(POWER)

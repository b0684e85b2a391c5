"""Is one arm better than another? Tests paired by seed or by text. Knows no model.

Small and exact where it can be: the sign-flip test over seeds, McNemar's over texts, Holm's
correction for several comparisons, and what a study of this size could have shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greffe.config.recipe import Spec
from greffe.evaluation.intervals import Estimate, crossed_error, crossed_estimate
from greffe.seeding import rng

EXACT_SEEDS = 16
"""Up to here all sign patterns are tried; beyond, as many as 16 seeds have are drawn."""
POWER = 0.8
SIGNIFICANCE = 0.05


class McNemar(Spec):
    """Test texts on which two arms differ, each arm speaking by the mean of its seeds."""

    only_first: int
    """Texts that the first arm alone has right."""
    only_second: int
    """Texts that the second arm alone has right."""
    p: float
    """Exact and two-sided."""


class PairedResult(Spec):
    """One arm against another on the same texts, seed by seed."""

    difference: Estimate
    """First minus second, over seeds and texts."""
    p: float
    """Sign-flip test over seeds; for two arms of one row each, McNemar's over texts."""
    smallest_p: float
    """What this test could have given at best."""
    smallest_detectable: float
    """The smallest true difference that would have been shown four times out of five."""


def compare_correct(first: np.ndarray, second: np.ndarray) -> PairedResult:
    """Compare tables [seeds, texts] of right answers; row i of one belongs to row i of the other.

    An arm without chance has one row, which stands against every row of the other.
    """
    assert first.shape[1] == second.shape[1]
    assert len(first) == len(second) or 1 in (len(first), len(second))
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    difference = crossed_estimate(differences)
    if len(differences) == 1:
        over_texts = mcnemar(first[0], second[0])
        p = over_texts.p
        chances = over_texts.only_first + over_texts.only_second
    else:
        p = sign_flip_p(difference.values)
        chances = len(differences)
    return PairedResult(
        difference=difference,
        p=p,
        smallest_p=smallest_sign_flip_p(chances),
        smallest_detectable=smallest_detectable(differences),
    )


def mcnemar(first_right: np.ndarray, second_right: np.ndarray) -> McNemar:
    """Exact test on the texts that only one of two arms has right; [texts] of booleans each."""
    from scipy import stats

    first, second = np.asarray(first_right, bool), np.asarray(second_right, bool)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    differing = only_first + only_second
    p = float(stats.binomtest(only_first, differing).pvalue) if differing else 1.0
    return McNemar(only_first=only_first, only_second=only_second, p=p)


def sign_flip_p(differences: Sequence[float] | np.ndarray) -> float:
    """Two-sided p of a mean difference, were the sign of each seed's difference pure chance."""
    figures = np.asarray(differences, dtype=np.float64)
    seeds = len(figures)
    if seeds <= EXACT_SEEDS:
        patterns = (np.arange(2**seeds)[:, None] >> np.arange(seeds)) & 1  # [2^seeds, seeds]
    else:
        patterns = rng(0, "sign flips", seeds).integers(0, 2, (2**EXACT_SEEDS, seeds))
    sums = np.abs((2 * patterns - 1) @ figures)
    # Equal sums may differ in their last digits.
    reached = int((sums >= abs(figures.sum()) - 1e-9 * np.abs(figures).sum()).sum())
    if seeds <= EXACT_SEEDS:
        return reached / len(sums)
    return (reached + 1) / (len(sums) + 1)


def smallest_sign_flip_p(seeds: int) -> float:
    """What the sign-flip test gives when all seeds agree in sign: nothing smaller is possible."""
    return min(1.0, 2.0 ** (1 - seeds))


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted p values, in the given order, so that all claims together err in 5 %."""
    order = np.argsort(ps, kind="stable")
    scaled = np.asarray(ps, dtype=np.float64)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(p) for p in adjusted]


def smallest_detectable(differences: np.ndarray) -> float:
    """The smallest true mean of a table [seeds, texts] shown with 80 % power at the 5 % level.

    Shown by its interval; the sign-flip test may need more seeds than there are.
    """
    error = crossed_error(np.asarray(differences, dtype=np.float64))
    return error.reach(1 - SIGNIFICANCE / 2) + error.reach(POWER)

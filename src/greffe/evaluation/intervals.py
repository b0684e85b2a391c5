"""Means with 95% confidence intervals that cover new seeds and new test texts.

A table has one row per seed and one column per text: 0/1 for wrong and correct predictions, or
-1/0/1 for the difference of two arms. Both seeds and texts are samples. A bootstrap over three to
eight seeds gives intervals that are too narrow, so intervals are computed from variance components;
the bootstrap interval can be added for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from greffe.config.spec import Spec
from greffe.seeding import rng

LEVEL = 0.95
DRAWS = 2000

Bounds = tuple[float, float]


class Estimate(Spec):
    """A mean over seeds (and, for tables, over test texts) with its 95% interval."""

    mean: float
    deviation: float | None
    """Standard deviation over seeds; None for a single seed."""
    low: float
    high: float
    values: list[float]
    """One value per seed."""
    bootstrap: tuple[float, float] | None = None
    """Bootstrap interval over seeds and texts, if requested."""


class CrossedError(NamedTuple):
    """Standard errors of a table's mean due to seeds and due to texts."""

    of_seeds: float
    seed_degrees: int
    of_texts: float
    """Without the part that the error of the seeds already contains."""
    text_degrees: int

    def margin(self, quantile: float) -> float:
        """Return the one-sided margin of error at this quantile.

        Each component uses Student's t with its own degrees of freedom, which is never too narrow
        and hardly too wide from five seeds on.
        """
        seeds = student_t(quantile, self.seed_degrees) * self.of_seeds
        texts = student_t(quantile, self.text_degrees) * self.of_texts
        return math.hypot(seeds, texts)


@cache
def student_t(quantile: float, degrees: int) -> float:
    """Return a quantile of Student's t; zero for zero degrees of freedom."""
    from scipy import stats

    return float(stats.t.ppf(quantile, degrees)) if degrees else 0.0


def crossed_error(table: np.ndarray, bounds: Bounds = (-1, 1)) -> CrossedError:
    """Estimate the standard errors of the mean of a table [seeds, texts].

    Two-way layout: mean squares of seeds, texts and residuals. The total variance is at least that
    of a table in which two texts differ, one at each bound, so that a sample without any difference
    does not give an interval of width zero.
    """
    seeds, texts = table.shape
    mean, by_seed, by_text = table.mean(), table.mean(axis=1), table.mean(axis=0)
    rest = table - by_seed[:, None] - by_text[None, :] + mean
    seed_degrees, text_degrees = seeds - 1, max(texts - 1, 1)
    seed_square = texts * float(((by_seed - mean) ** 2).sum()) / max(seed_degrees, 1)
    text_square = seeds * float(((by_text - mean) ** 2).sum()) / text_degrees
    rest_square = float((rest**2).sum()) / (max(seed_degrees, 1) * text_degrees)
    seed_variance = seed_square / (seeds * texts)
    text_variance = max(text_square - rest_square, 0.0) / (seeds * texts)
    least = (bounds[1] - bounds[0]) ** 2 / 2 / texts**2
    text_variance = max(text_variance, least - seed_variance)
    return CrossedError(
        math.sqrt(seed_variance), seed_degrees, math.sqrt(text_variance), text_degrees
    )


def crossed_estimate(table: np.ndarray, bounds: Bounds = (-1, 1)) -> Estimate:
    """Return the mean of a table [seeds, texts] with an interval for new seeds and new texts.

    Near a bound the interval becomes asymmetric, as in Wilson's interval of a proportion, with
    which it coincides for a single seed.
    """
    table = np.asarray(table, dtype=np.float64)
    values = table.mean(axis=1)
    margin = crossed_error(table, bounds).margin((1 + LEVEL) / 2)
    low, high = _wilson(float(table.mean()), margin, table.shape[1], bounds)
    return _estimate(values, low, high, bounds)


def with_bootstrap(estimate: Estimate, table: np.ndarray) -> Estimate:
    """Return the estimate with its bootstrap interval added."""
    return estimate.model_copy(update={"bootstrap": bootstrap_interval(table)})


def bootstrap_interval(table: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Return the percentile interval of the mean of a table with resampled rows and columns."""
    draw = rng(seed, "bootstrap")
    seeds, texts = table.shape
    # Identical columns are drawn as one kind: few kinds instead of many texts.
    kinds, counts = np.unique(table, axis=1, return_counts=True)
    of_texts = draw.multinomial(texts, counts / texts, size=DRAWS) / texts  # [DRAWS, kinds]
    of_seeds = draw.multinomial(seeds, np.full(seeds, 1 / seeds), size=DRAWS) / seeds
    means = ((of_seeds @ kinds) * of_texts).sum(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def seeds_estimate(values: Sequence[float], bounds: Bounds = (-math.inf, math.inf)) -> Estimate:
    """Return the mean of one value per seed with Student's interval; width zero for one seed."""
    figures = np.asarray(values, dtype=np.float64)
    mean, degrees = float(figures.mean()), len(figures) - 1
    error = float(figures.std(ddof=1)) / math.sqrt(len(figures)) if degrees else 0.0
    margin = student_t((1 + LEVEL) / 2, degrees) * error
    return _estimate(figures, mean - margin, mean + margin, bounds)


def _wilson(mean: float, margin: float, texts: int, bounds: Bounds) -> tuple[float, float]:
    """Return the means m for which |m - mean| is within the margin of error at m.

    The margin is scaled by the standard deviation of a proportion at m relative to that at `mean`.
    A mean at a bound counts as half a text away from it.
    """
    start, width = bounds[0], bounds[1] - bounds[0]
    fraction, relative = (mean - start) / width, margin / width
    inside = min(max(fraction, 0.5 / texts), 1 - 0.5 / texts)
    pull = relative**2 / (inside * (1 - inside))
    centre = (fraction + pull / 2) / (1 + pull)
    half = math.sqrt(pull * fraction * (1 - fraction) + pull**2 / 4) / (1 + pull)
    return start + width * (centre - half), start + width * (centre + half)


def _estimate(values: np.ndarray, low: float, high: float, bounds: Bounds) -> Estimate:
    """Build the estimate; the interval contains the mean despite rounding."""
    mean = float(values.mean())
    return Estimate(
        mean=mean,
        deviation=float(values.std(ddof=1)) if len(values) > 1 else None,
        low=min(mean, max(bounds[0], low)),
        high=max(mean, min(bounds[1], high)),
        values=values.tolist(),
    )

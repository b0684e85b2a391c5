"""Means with 95 % intervals that allow for other seeds and other test texts. Knows no model.

A table has one row a seed and one column a text: 0/1 for wrong and right, or -1/0/1 for the
difference of two arms. Both its seeds and its texts are a sample. Resampling three to eight seeds
is too sure of itself, so that intervals of means are computed from variance components; what the
bootstrap says stands beside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from greffe.config.recipe import Spec
from greffe.seeding import rng

LEVEL = 0.95
DRAWS = 2000

Bounds = tuple[float, float]


class Estimate(Spec):
    """A mean over seeds (and, where it says so, over test texts) with its 95 % interval."""

    mean: float
    deviation: float | None
    """Standard deviation over seeds; none for a single one."""
    low: float
    high: float
    values: list[float]
    """One a seed."""
    bootstrap: tuple[float, float] | None = None
    """The interval that resampling seeds and texts gives, where it was asked for."""


class CrossedError(NamedTuple):
    """Standard errors of a table's mean, from its seeds and from its texts."""

    of_seeds: float
    seed_degrees: int
    of_texts: float
    """What is left when the texts' part in the seeds' own error is taken out."""
    text_degrees: int

    def reach(self, share: float) -> float:
        """How far the mean lies from the truth, at most, in this share of samples (one side).

        Each part by its own Student's t: never too short, and hardly too long from 5 seeds on.
        """
        seeds = student(share, self.seed_degrees) * self.of_seeds
        texts = student(share, self.text_degrees) * self.of_texts
        return math.hypot(seeds, texts)


@cache
def student(share: float, degrees: int) -> float:
    """Quantile of Student's t; zero without degrees, where nothing is known to vary."""
    from scipy import stats

    return float(stats.t.ppf(share, degrees)) if degrees else 0.0


def crossed_error(table: np.ndarray, bounds: Bounds = (-1, 1)) -> CrossedError:
    """How far the mean of a table [seeds, texts] would move with other seeds and other texts.

    The two-way layout: mean squares of seeds, of texts and of what is left. The sum of the parts
    is never below that of two texts that disagree, one at each bound, among so many that do not:
    no sample is proof that nothing ever differs.
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
    """Mean of a table [seeds, texts] with what new seeds and new texts could make of it.

    Near a bound the error shrinks with the true mean's own distance from it, as in Wilson's
    interval of a proportion, which this is for one seed.
    """
    table = np.asarray(table, dtype=np.float64)
    values = table.mean(axis=1)
    reach = crossed_error(table, bounds).reach((1 + LEVEL) / 2)
    low, high = _wilson(float(table.mean()), reach, table.shape[1], bounds)
    return _estimate(values, low, high, bounds)


def with_bootstrap(estimate: Estimate, table: np.ndarray) -> Estimate:
    """The same with the bootstrap's interval beside it."""
    return estimate.model_copy(update={"bootstrap": bootstrap_interval(table)})


def bootstrap_interval(table: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Percentiles of the mean of a table [seeds, texts] whose rows and columns are drawn anew."""
    draw = rng(seed, "bootstrap")
    seeds, texts = table.shape
    # Texts that all seeds treat alike are drawn as one kind: few kinds instead of all texts.
    kinds, counts = np.unique(table, axis=1, return_counts=True)
    of_texts = draw.multinomial(texts, counts / texts, size=DRAWS) / texts  # [DRAWS, kinds]
    of_seeds = draw.multinomial(seeds, np.full(seeds, 1 / seeds), size=DRAWS) / seeds
    means = ((of_seeds @ kinds) * of_texts).sum(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def seeds_estimate(values: Sequence[float], bounds: Bounds = (-math.inf, math.inf)) -> Estimate:
    """Mean of one figure a seed with Student's interval; a single seed has no width."""
    figures = np.asarray(values, dtype=np.float64)
    mean, degrees = float(figures.mean()), len(figures) - 1
    error = float(figures.std(ddof=1)) / math.sqrt(len(figures)) if degrees else 0.0
    reach = student((1 + LEVEL) / 2, degrees) * error
    return _estimate(figures, mean - reach, mean + reach, bounds)


def _wilson(mean: float, reach: float, texts: int, bounds: Bounds) -> tuple[float, float]:
    """Means m with |m - mean| within `reach`, scaled by the root of (m - bounds) / (mean - bounds).

    A mean at a bound counts as half a text away from it.
    """
    start, width = bounds[0], bounds[1] - bounds[0]
    share, relative = (mean - start) / width, reach / width
    inside = min(max(share, 0.5 / texts), 1 - 0.5 / texts)
    pull = relative**2 / (inside * (1 - inside))
    centre = (share + pull / 2) / (1 + pull)
    half = math.sqrt(pull * share * (1 - share) + pull**2 / 4) / (1 + pull)
    return start + width * (centre - half), start + width * (centre + half)


def _estimate(values: np.ndarray, low: float, high: float, bounds: Bounds) -> Estimate:
    """All together; the interval holds the mean, whatever rounding does."""
    mean = float(values.mean())
    return Estimate(
        mean=mean,
        deviation=float(values.std(ddof=1)) if len(values) > 1 else None,
        low=min(mean, max(bounds[0], low)),
        high=max(mean, min(bounds[1], high)),
        values=values.tolist(),
    )

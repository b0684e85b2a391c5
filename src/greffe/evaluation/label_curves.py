"""Accuracy against the number of labels: what labels one arm saves, what more would bring.

A curve holds one table [seeds, texts] of right answers for each number of labels, the same texts
in all of them. Intervals come from a bootstrap that draws seeds and texts anew, the same ones for
every arm and every number of labels. Knows no model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np

from greffe.config.recipe import Spec
from greffe.evaluation.intervals import LEVEL, student
from greffe.seeding import rng

DRAWS = 1000
POWERS = np.geomspace(0.05, 1, 61)
"""Exponents tried for the law of error against labels."""
CELLS_AT_ONCE = 2_000_000
ROUNDING = 1e-9
"""Accuracies that differ by less are the same."""

Curve = Mapping[int, np.ndarray]


class Equivalent(Spec):
    """How many labels a second arm needs to do as well; with a 95 % interval."""

    value: float | None
    """None: not reached with the most labels that were measured."""
    low: float | None
    high: float | None
    is_floor: bool
    """The second arm is better with its fewest labels already: `value` is those."""


class Extrapolated(Spec):
    """The accuracy that more labels would add, with a 95 % interval."""

    gain: float
    low: float
    high: float


def equivalent_labels(first: np.ndarray, second: Curve, seed: int = 0) -> Equivalent:
    """Labels with which the second arm reaches the accuracy of `first` [seeds, texts].

    The second arm's curve is made to rise (isotonic regression) and read between its points on a
    logarithmic scale of labels.
    """
    labels = sorted(second)
    means = _means_and_draws([first, *(second[count] for count in labels)], seed)
    reached = _labels_reaching(means[:, 0], rising(means[:, 1:]), np.array(labels, np.float64))
    value, draws = reached[0], np.sort(reached[1:])
    low, high = _interval(draws)
    return Equivalent(
        value=_finite(value),
        low=_finite(min(low, value)),
        high=_finite(max(high, value)),
        is_floor=bool(rising(means[:1, 1:])[0, 0] > means[0, 0] + ROUNDING),
    )


def extrapolate(curve: Curve, more: int, seed: int = 0) -> Extrapolated | None:
    """What `more` labels beyond the most measured would bring; None with fewer than three points.

    The error is taken to fall as a + b / labels^c with a, b >= 0 and 0 < c <= 1.
    """
    assert more > 0
    labels = sorted(curve)
    if len(labels) < 3:
        return None
    means = _means_and_draws([curve[count] for count in labels], seed)
    gains = _power_law_gains(1 - means, np.array(labels, np.float64), labels[-1] + more)
    gain = float(gains[0])
    low, high = _interval(np.sort(gains[1:]))
    return Extrapolated(gain=gain, low=min(low, gain), high=max(high, gain))


def rising(curves: np.ndarray) -> np.ndarray:
    """The nearest curves [n, points] that never fall: least squares, equal weights.

    The largest, over starts, of the smallest, over ends, mean of a stretch around each point;
    scikit-learn does one curve at a time.
    """
    points = curves.shape[1]
    sums = np.concatenate([np.zeros((len(curves), 1)), curves.cumsum(axis=1)], axis=1)
    fitted = np.full(curves.shape, -math.inf)
    for start in range(points):
        lengths = np.arange(1, points - start + 1)
        stretches = (sums[:, start + 1 :] - sums[:, [start]]) / lengths
        # Smallest mean of the stretches that end at each point or later.
        smallest = np.minimum.accumulate(stretches[:, ::-1], axis=1)[:, ::-1]
        fitted[:, start:] = np.maximum(fitted[:, start:], smallest)
    return fitted


def _labels_reaching(targets: np.ndarray, curves: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Where rising curves [n, points] reach their targets [n]; infinite where they do not."""
    reaching = curves >= targets[:, None] - ROUNDING
    after = reaching.argmax(axis=1)
    before = np.maximum(after - 1, 0)
    each, scale = np.arange(len(curves)), np.log(labels)
    below, above = curves[each, before], curves[each, after]
    # Measured numbers come back as they are, not as exponents of their logarithms.
    is_between = (after > 0) & (above > targets + ROUNDING)
    share = np.divide(targets - below, above - below, out=np.ones(len(each)), where=is_between)
    between = np.exp(scale[before] + share * (scale[after] - scale[before]))
    found = np.where(is_between, between, labels[after])
    return np.where(reaching.any(axis=1), found, math.inf)


def _power_law_gains(errors: np.ndarray, labels: np.ndarray, then: int) -> np.ndarray:
    """Fall of errors [n, points] from the most labels to `then`, by the best law of each row."""
    best, gains = np.full(len(errors), math.inf), np.zeros(len(errors))
    for power in POWERS:
        shape = (labels / labels[-1]) ** -power  # [points]; 1 at the end
        centred = shape - shape.mean()
        slope = np.maximum(errors @ centred / (centred @ centred), 0)
        limit = errors.mean(axis=1) - slope * shape.mean()
        # A negative limit: the law without one.
        slope = np.where(limit < 0, errors @ shape / (shape @ shape), slope)
        limit = np.maximum(limit, 0)
        missed = ((errors - limit[:, None] - slope[:, None] * shape) ** 2).sum(axis=1)
        is_better = missed < best
        best = np.where(is_better, missed, best)
        gains = np.where(is_better, slope * (1 - (then / labels[-1]) ** -power), gains)
    return gains


def _means_and_draws(tables: Sequence[np.ndarray], seed: int) -> np.ndarray:
    """Mean of each table, then the same for DRAWS new samples of seeds and texts; [1 + DRAWS, n].

    Seeds and texts move the means each on their own. Few seeds, drawn anew, move them too little:
    their moves are stretched to the width of Student's t.
    """
    seeds = max(len(table) for table in tables)
    assert all(len(table) in (1, seeds) for table in tables)
    texts = tables[0].shape[1]
    stacked = np.stack([np.broadcast_to(table, (seeds, texts)) for table in tables]).astype(float)
    means = stacked.mean(axis=(1, 2))
    by_seed = stacked.mean(axis=2) - means[:, None]  # [n, seeds]
    by_text = stacked.mean(axis=1) - means[:, None]  # [n, texts]
    draw = rng(seed, "label curves")
    moves = _resampled_texts(draw, by_text)
    if seeds > 1:
        rest = stacked - (means[:, None] + by_seed)[:, :, None] - by_text[:, None, :]
        moves = moves @ _without_chance(by_text, rest).T
        top = (1 + LEVEL) / 2
        stretch = student(top, seeds - 1) / NormalDist().inv_cdf(top)
        stretch *= math.sqrt(seeds / (seeds - 1))
        weights = draw.multinomial(seeds, np.full(seeds, 1 / seeds), size=DRAWS) / seeds
        moves += stretch * weights @ by_seed.T
    return np.concatenate([means[None], np.clip(means + moves, 0, 1)])


def _resampled_texts(draw: np.random.Generator, deviations: np.ndarray) -> np.ndarray:
    """Mean deviations, from [n, texts], of texts drawn anew; [DRAWS, n]."""
    texts = deviations.shape[1]
    at_once = max(1, CELLS_AT_ONCE // texts)
    parts = []
    for start in range(0, DRAWS, at_once):
        rows = min(at_once, DRAWS - start)
        drawn = draw.integers(0, texts, (rows, texts)) + texts * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * texts).reshape(rows, texts)
        parts.append(counts @ deviations.T / texts)
    return np.concatenate(parts)


def _without_chance(by_text: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """A map [n, n] that takes out of the texts' moves what is the seeds' own chance.

    A text's mean over few seeds varies by the texts' nature and by what is left (`rest`
    [n, seeds, texts]), and the seeds' moves hold the latter already. The map leaves the difference
    of the two covariances, none below zero.
    """
    _, seeds, texts = rest.shape
    whole = by_text @ by_text.T / max(texts - 1, 1)
    chance = np.einsum("ast,bst->ab", rest, rest) / ((seeds - 1) * max(texts - 1, 1) * seeds)
    sizes, axes = np.linalg.eigh(whole)
    # Tables that are equal, or constant, have no axis of their own.
    is_real = sizes > ROUNDING * max(float(sizes[-1]), ROUNDING)
    roots, axes = np.sqrt(sizes[is_real]), axes[:, is_real]
    to_unit, from_unit = axes / roots, axes * roots  # [n, axes]
    probabilities, turns = np.linalg.eigh(np.eye(len(roots)) - to_unit.T @ chance @ to_unit)
    shrink = (turns * np.sqrt(np.clip(probabilities, 0, 1))) @ turns.T
    shrunk: np.ndarray = from_unit @ shrink @ to_unit.T
    return shrunk


def _interval(ordered: np.ndarray) -> tuple[float, float]:
    """Ends of the middle 95 % of sorted draws, infinite ones last."""
    outside = round(len(ordered) * (1 - LEVEL) / 2)
    return float(ordered[outside]), float(ordered[-1 - outside])


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None

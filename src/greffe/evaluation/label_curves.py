"""Learning curves: accuracy as a function of the number of labels.

A curve maps each number of labels to a table [seeds, texts] of correct predictions on the same
texts. Intervals come from a bootstrap that resamples seeds and texts jointly for all arms and all
numbers of labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np

from greffe.config.spec import Spec
from greffe.evaluation.intervals import LEVEL, student_t
from greffe.seeding import rng

DRAWS = 1000
POWERS = np.geomspace(0.05, 1, 61)
"""Exponents tried for the power law of the error."""
CELLS_AT_ONCE = 2_000_000
ROUNDING = 1e-9
"""Accuracies that differ by less are equal."""

Curve = Mapping[int, np.ndarray]


class Equivalent(Spec):
    """The number of labels a second arm needs for the same accuracy, with a 95% interval."""

    value: float | None
    """None: not reached with the largest number of labels."""
    low: float | None
    high: float | None
    is_floor: bool
    """The second arm is already better with its smallest number of labels, which is `value`."""


class Extrapolated(Spec):
    """The accuracy gained with more labels, with a 95% interval."""

    gain: float
    low: float
    high: float


def equivalent_labels(first: np.ndarray, second: Curve, seed: int = 0) -> Equivalent:
    """Estimate the labels with which the second arm reaches the accuracy of `first` [seeds, texts].

    The second arm's curve is made monotonic (isotonic regression) and interpolated between its
    points on a logarithmic scale of labels.
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
    """Estimate the gain from `more` labels than measured; None with fewer than three points.

    The error is modelled as a + b / labels^c with a, b >= 0 and 0 < c <= 1.
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
    """Return the isotonic regression of curves [n, points]: least squares, equal weights.

    By the max-min formula: the maximum over starts of the minimum over ends of the mean of the
    interval around each point. scikit-learn fits one curve at a time.
    """
    points = curves.shape[1]
    sums = np.concatenate([np.zeros((len(curves), 1)), curves.cumsum(axis=1)], axis=1)
    fitted = np.full(curves.shape, -math.inf)
    for start in range(points):
        lengths = np.arange(1, points - start + 1)
        interval_means = (sums[:, start + 1 :] - sums[:, [start]]) / lengths
        # Smallest mean of the intervals that end at each point or later.
        smallest = np.minimum.accumulate(interval_means[:, ::-1], axis=1)[:, ::-1]
        fitted[:, start:] = np.maximum(fitted[:, start:], smallest)
    return fitted


def _labels_reaching(targets: np.ndarray, curves: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return where monotonic curves [n, points] reach their targets [n]; infinite if never."""
    reaching = curves >= targets[:, None] - ROUNDING
    after = reaching.argmax(axis=1)
    before = np.maximum(after - 1, 0)
    each, scale = np.arange(len(curves)), np.log(labels)
    below, above = curves[each, before], curves[each, after]
    # Measured numbers are returned exactly, not as the exponential of their logarithm.
    is_between = (after > 0) & (above > targets + ROUNDING)
    fraction = np.divide(targets - below, above - below, out=np.ones(len(each)), where=is_between)
    between = np.exp(scale[before] + fraction * (scale[after] - scale[before]))
    found = np.where(is_between, between, labels[after])
    return np.where(reaching.any(axis=1), found, math.inf)


def _power_law_gains(errors: np.ndarray, labels: np.ndarray, then: int) -> np.ndarray:
    """Return the decrease of errors [n, points] up to `then` labels, by each row's best fit."""
    best, gains = np.full(len(errors), math.inf), np.zeros(len(errors))
    for power in POWERS:
        shape = (labels / labels[-1]) ** -power  # [points]; 1 at the end
        centred = shape - shape.mean()
        slope = np.maximum(errors @ centred / (centred @ centred), 0)
        limit = errors.mean(axis=1) - slope * shape.mean()
        # If the limit is negative, fit the law without a limit.
        slope = np.where(limit < 0, errors @ shape / (shape @ shape), slope)
        limit = np.maximum(limit, 0)
        squared = ((errors - limit[:, None] - slope[:, None] * shape) ** 2).sum(axis=1)
        is_better = squared < best
        best = np.where(is_better, squared, best)
        gains = np.where(is_better, slope * (1 - (then / labels[-1]) ** -power), gains)
    return gains


def _means_and_draws(tables: Sequence[np.ndarray], seed: int) -> np.ndarray:
    """Return the tables' means, then those of DRAWS resamples of seeds and texts; [1 + DRAWS, n].

    Seeds and texts contribute independently. Resampling few seeds underestimates their variance, so
    their deviations are scaled to the width of Student's t.
    """
    seeds = max(len(table) for table in tables)
    assert all(len(table) in (1, seeds) for table in tables)
    texts = tables[0].shape[1]
    stacked = np.stack([np.broadcast_to(table, (seeds, texts)) for table in tables]).astype(float)
    means = stacked.mean(axis=(1, 2))
    by_seed = stacked.mean(axis=2) - means[:, None]  # [n, seeds]
    by_text = stacked.mean(axis=1) - means[:, None]  # [n, texts]
    draw = rng(seed, "label curves")
    deviations = _resampled_texts(draw, by_text)
    if seeds > 1:
        rest = stacked - (means[:, None] + by_seed)[:, :, None] - by_text[:, None, :]
        deviations = deviations @ _without_seed_noise(by_text, rest).T
        top = (1 + LEVEL) / 2
        scale = student_t(top, seeds - 1) / NormalDist().inv_cdf(top)
        scale *= math.sqrt(seeds / (seeds - 1))
        weights = draw.multinomial(seeds, np.full(seeds, 1 / seeds), size=DRAWS) / seeds
        deviations += scale * weights @ by_seed.T
    return np.concatenate([means[None], np.clip(means + deviations, 0, 1)])


def _resampled_texts(draw: np.random.Generator, deviations: np.ndarray) -> np.ndarray:
    """Return the mean deviations, from [n, texts], of resampled texts; [DRAWS, n]."""
    texts = deviations.shape[1]
    at_once = max(1, CELLS_AT_ONCE // texts)
    parts = []
    for start in range(0, DRAWS, at_once):
        rows = min(at_once, DRAWS - start)
        drawn = draw.integers(0, texts, (rows, texts)) + texts * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * texts).reshape(rows, texts)
        parts.append(counts @ deviations.T / texts)
    return np.concatenate(parts)


def _without_seed_noise(by_text: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return a matrix [n, n] that removes the noise of the seeds from the texts' deviations.

    A text's mean over few seeds varies with the text and with the residuals (`rest`
    [n, seeds, texts]); the seeds' deviations already contain the latter. The matrix maps to the
    difference of the two covariances, without negative eigenvalues.
    """
    _, seeds, texts = rest.shape
    covariance = by_text @ by_text.T / max(texts - 1, 1)
    noise = np.einsum("ast,bst->ab", rest, rest) / ((seeds - 1) * max(texts - 1, 1) * seeds)
    eigenvalues, axes = np.linalg.eigh(covariance)
    # Equal or constant tables make the covariance singular.
    is_real = eigenvalues > ROUNDING * max(float(eigenvalues[-1]), ROUNDING)
    roots, axes = np.sqrt(eigenvalues[is_real]), axes[:, is_real]
    to_unit, from_unit = axes / roots, axes * roots  # [n, axes]
    fractions, rotation = np.linalg.eigh(np.eye(len(roots)) - to_unit.T @ noise @ to_unit)
    shrink = (rotation * np.sqrt(np.clip(fractions, 0, 1))) @ rotation.T
    shrunk: np.ndarray = from_unit @ shrink @ to_unit.T
    return shrunk


def _interval(ordered: np.ndarray) -> tuple[float, float]:
    """Return the bounds of the middle 95% of sorted draws, infinite ones last."""
    outside = round(len(ordered) * (1 - LEVEL) / 2)
    return float(ordered[outside]), float(ordered[-1 - outside])


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None

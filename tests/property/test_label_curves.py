from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.evaluation.label_curves import equivalent_labels, extrapolate, rising

ACCURACIES = st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0])


@given(
    counts=st.lists(st.integers(1, 5000), min_size=1, max_size=6, unique=True),
    accuracies=st.lists(ACCURACIES, min_size=7, max_size=7),
    seeds=st.integers(1, 4),
    texts=st.integers(1, 30),
    is_repeated=st.booleans(),
    more=st.integers(1, 10_000),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=60)
def test_any_curve_gives_figures_in_range(
    counts: list[int],
    accuracies: list[float],
    seeds: int,
    texts: int,
    is_repeated: bool,
    more: int,
    seed: int,
) -> None:
    chance = np.random.default_rng(seed).random(
        (len(accuracies), 1 if is_repeated else seeds, texts)
    )
    tables = [
        rows.repeat(seeds, 0)[:seeds] < accuracy
        for rows, accuracy in zip(chance, accuracies, strict=True)
    ]
    curve = dict(zip(counts, tables, strict=False))

    found = equivalent_labels(tables[-1], curve)
    ends = [value for value in (found.low, found.value, found.high) if value is not None]
    assert ends == sorted(ends)
    assert all(min(counts) * (1 - 1e-9) <= end <= max(counts) * (1 + 1e-9) for end in ends)
    if found.low is None:
        assert found.value is None
    if found.value is None:
        assert found.high is None
    if found.is_floor:
        assert found.value == min(counts)

    gained = extrapolate(curve, more)
    assert (gained is None) == (len(counts) < 3)
    if gained is not None:
        assert 0 <= gained.low <= gained.gain <= gained.high <= 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_a_rising_curve_rises_and_keeps_its_mean(curve: list[float]) -> None:
    fitted = rising(np.array([curve]))[0]
    assert (np.diff(fitted) >= -1e-12).all()
    assert abs(fitted.mean() - np.mean(curve)) < 1e-9
    assert np.allclose(rising(fitted[None])[0], fitted)

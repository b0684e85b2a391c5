"""The choice among models: the best ensemble, and an honest accuracy to expect of it."""

from __future__ import annotations

import numpy as np
import pytest

from greffe.auto.choice import (
    OutOfFold,
    accuracy_by_text,
    accuracy_of,
    cannot_win,
    choose_members,
    gain_of,
    join,
)
from greffe.seeding import rng

TEXTS = 400
TARGETS = np.arange(TEXTS) % 2
NO_TEXT = np.full((1, TEXTS, 2), np.nan)


def model(is_right: np.ndarray, *, sure: float | np.ndarray = 0.8) -> OutOfFold:
    """Return a model that is right on these texts, with this probability of its class."""
    of_target = np.where(is_right, sure, 1 - np.asarray(sure))
    probabilities = np.empty((1, TEXTS, 2))
    probabilities[0, np.arange(TEXTS), TARGETS] = of_target
    probabilities[0, np.arange(TEXTS), 1 - TARGETS] = 1 - of_target
    return OutOfFold(probabilities)


def right(fraction: float, seed: int = 0) -> np.ndarray:
    found: np.ndarray = rng(seed, "right").random(TEXTS) < fraction
    return found


def complementary() -> tuple[OutOfFold, OutOfFold]:
    """Return two models that are unsure where they are wrong, each on its half."""
    half = np.arange(TEXTS) < TEXTS // 2
    rest = right(0.4)
    return (
        model(half | rest, sure=np.where(half, 0.95, 0.55)),
        model(~half | rest, sure=np.where(~half, 0.95, 0.55)),
    )


def test_the_better_of_two_similar_models_is_chosen() -> None:
    good = right(0.9)
    bad = good & right(0.7, seed=1)
    choice = choose_members({"bad": model(bad), "good": model(good)}, TARGETS, seed=0)
    assert choice.members == ("good",)
    assert choice.expected.mean == pytest.approx(good.mean(), abs=0.005)


def test_an_ensemble_that_is_better_than_its_models_is_chosen() -> None:
    first, second = complementary()
    noise = model(right(0.3, seed=3), sure=0.6)
    choice = choose_members({"a": first, "noise": noise, "b": second}, TARGETS, seed=0)
    assert choice.members == ("a", "b")
    assert choice.expected.mean > 0.95


def test_equal_accuracies_are_decided_by_the_log_loss() -> None:
    is_right = right(0.9)
    unsure, sure = model(is_right, sure=0.6), model(is_right, sure=0.85)
    choice = choose_members({"unsure": unsure, "sure": sure}, TARGETS, seed=0)
    assert choice.members == ("sure",)


def test_one_model_is_expected_to_be_as_good_as_it_was() -> None:
    is_right = right(0.8)
    choice = choose_members({"only": model(is_right)}, TARGETS, seed=0)
    assert choice.members == ("only",)
    assert choice.expected == accuracy_of(is_right.astype(float))


def test_the_best_of_many_random_models_is_expected_to_be_random() -> None:
    plain, expected = [], []
    for trial in range(8):
        models = {f"{n}": model(right(0.5, seed=100 * trial + n)) for n in range(10)}
        choice = choose_members(models, TARGETS, seed=trial)
        found = join([models[name] for name in choice.members])
        plain.append(accuracy_by_text(found, TARGETS).mean())
        expected.append(choice.expected.mean)
        assert choice.expected.mean <= plain[-1]
        assert choice.expected.low <= choice.expected.mean <= choice.expected.high
    assert np.mean(plain) > 0.54
    assert np.mean(expected) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("fraction", [0.02, 0.5, 0.8, 1.0])
def test_the_expected_accuracy_is_never_above_the_plain_one(fraction: float) -> None:
    models = {f"{n}": model(right(fraction, seed=n)) for n in range(4)}
    choice = choose_members(models, TARGETS, seed=0)
    found = accuracy_by_text(join([models[name] for name in choice.members]), TARGETS)
    expected = choice.expected
    assert expected.mean <= found.mean()
    assert 0 <= expected.low <= expected.mean <= expected.high <= 1


def test_the_choice_follows_from_the_seed() -> None:
    models = {f"{n}": model(right(0.6, seed=n)) for n in range(4)}
    first, again, other = (choose_members(models, TARGETS, seed) for seed in (0, 0, 1))
    assert first == again
    assert first.members == other.members and first.expected != other.expected


def test_models_are_compared_on_the_texts_that_all_have_classified() -> None:
    """A model that was tested on easy texts only has no advantage."""
    easy = np.arange(TEXTS) < 100
    whole = model(easy | right(0.6))
    part = model(easy & right(0.9, seed=1))
    part.probabilities[:, ~easy] = np.nan
    choice = choose_members({"part": part, "whole": whole}, TARGETS, seed=0)
    assert choice.members == ("whole",)
    assert choice.expected.mean == pytest.approx(1.0)


def test_a_bad_model_cannot_win() -> None:
    best = model(right(0.95), sure=0.6)
    assert cannot_win(model(right(0.5, seed=1), sure=0.95), best, TARGETS)


def test_a_complementary_or_equal_model_can_win() -> None:
    first, second = complementary()
    assert not cannot_win(first, second, TARGETS)
    assert not cannot_win(first, first, TARGETS)


def test_a_model_that_is_worse_alone_can_win_beside_the_best() -> None:
    best = model(right(0.9), sure=np.where(right(0.9), 0.9, 0.55))
    helper = model(~right(0.9) | right(0.6, seed=1), sure=np.where(right(0.9), 0.6, 0.95))
    assert accuracy_by_text(helper.probabilities, TARGETS).mean() < 0.8
    assert not cannot_win(helper, best, TARGETS)


def test_nothing_is_decided_without_two_shared_texts() -> None:
    bad, best = model(right(0.0)), model(right(1.0))
    bad.probabilities[:, 1:] = np.nan
    assert not cannot_win(bad, best, TARGETS)
    assert not cannot_win(OutOfFold(NO_TEXT.copy()), best, TARGETS)


def test_the_best_is_judged_on_the_challengers_repeats_only() -> None:
    """The best is right in the second repeat; the challenger has only seen the first."""
    wrong, perfect = model(right(0.0)).probabilities, model(right(1.0)).probabilities
    best = OutOfFold(np.concatenate([wrong, perfect]))
    challenger = OutOfFold(np.concatenate([wrong, NO_TEXT]))
    assert not cannot_win(challenger, best, TARGETS)


def test_accuracy_by_text_is_the_mean_over_known_repeats() -> None:
    targets = np.array([0, 1, 1, 0])
    probabilities = np.array(
        [
            [[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [np.nan, np.nan]],
            [[0.7, 0.3], [0.4, 0.6], [np.nan, np.nan], [np.nan, np.nan]],
        ]
    )
    found = accuracy_by_text(probabilities, targets)
    np.testing.assert_equal(found, [1.0, 0.5, 1.0, np.nan])
    assert accuracy_of(found).mean == pytest.approx(2.5 / 3)


def test_gains_are_over_the_texts_that_both_classified() -> None:
    first, second = np.array([1.0, 1.0, 0.0, np.nan]), np.array([0.0, 1.0, np.nan, 0.0])
    assert gain_of(first, second).mean == pytest.approx(0.5)


def test_joined_models_know_what_all_of_them_know() -> None:
    first, second = model(right(1.0)), model(right(0.0), sure=0.8)
    second.probabilities[0, 3] = np.nan
    joined = join([first, second])
    assert np.isnan(joined[0, 3]).all()
    assert np.isfinite(np.delete(joined, 3, axis=1)).all()
    np.testing.assert_allclose(joined[0, 0], 0.5)
    assert join([second]) is second.probabilities

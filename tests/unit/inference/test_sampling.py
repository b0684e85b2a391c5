from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from greffe.errors import InputError
from greffe.inference.sampling import Sampling, penalize, sample

PLAIN = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "repetition_penalty": 1.0}


def drawn(
    scores: Tensor, draws: int = 2000, banned: tuple[int, ...] = (), **choices: float
) -> Tensor:
    """Share of each token among many draws."""
    sampling = Sampling(**{**PLAIN, **choices})  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(0)
    picks = [sample(scores, [], banned, sampling, generator) for _ in range(draws)]
    return torch.bincount(torch.tensor(picks), minlength=scores.numel()) / draws


PROBABILITIES = torch.tensor([0.1, 0.4, 0.2, 0.3])


def test_draws_follow_the_softmax() -> None:
    assert torch.allclose(drawn(PROBABILITIES.log()), PROBABILITIES, atol=0.04)


def test_temperature_sharpens() -> None:
    expected = (PROBABILITIES.log() / 0.5).softmax(0)
    assert torch.allclose(drawn(PROBABILITIES.log(), temperature=0.5), expected, atol=0.04)


def test_zero_temperature_takes_the_best() -> None:
    assert drawn(PROBABILITIES.log(), draws=5, temperature=0).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("temperature", [1e-3, 1e-40, 5e-324])
def test_tiny_temperatures_do_not_overflow(temperature: float) -> None:
    scores = torch.tensor([-300.0, 500.0, 499.0])
    assert drawn(scores, draws=5, temperature=temperature).tolist() == [0, 1, 0]


def test_top_k_keeps_the_best_and_rescales() -> None:
    expected = torch.tensor([0, 4 / 7, 0, 3 / 7])
    assert torch.allclose(drawn(PROBABILITIES.log(), top_k=2), expected, atol=0.04)


def test_top_k_beyond_the_vocabulary_keeps_all() -> None:
    assert torch.allclose(drawn(PROBABILITIES.log(), top_k=99), PROBABILITIES, atol=0.04)


def test_top_k_of_one_is_the_best_even_among_equals() -> None:
    scores = torch.zeros(500)
    scores[[70, 200, 444]] = 1.0
    assert drawn(scores, draws=5, top_k=1).argmax() == 70
    assert drawn(scores, draws=5, temperature=0).argmax() == 70


@pytest.mark.parametrize(
    ("top_p", "kept"), [(1e-9, [1]), (0.39, [1]), (0.41, [1, 3]), (0.69, [1, 3]), (0.71, [1, 2, 3])]
)
def test_top_p_keeps_the_smallest_set_that_reaches_it(top_p: float, kept: list[int]) -> None:
    assert drawn(PROBABILITIES.log(), draws=300, top_p=top_p).nonzero().flatten().tolist() == kept


def test_top_p_counts_after_top_k() -> None:
    # Of the two best (4/7, 3/7) the first alone reaches one half; of all four it would not.
    assert drawn(PROBABILITIES.log(), draws=300, top_k=2, top_p=0.5).tolist() == [0, 1, 0, 0]


def test_banned_tokens_are_never_drawn() -> None:
    probabilities = drawn(PROBABILITIES.log(), draws=500, banned=(1, 3))
    assert probabilities[[1, 3]].tolist() == [0, 0]
    assert drawn(PROBABILITIES.log(), draws=5, banned=(1,), temperature=0).argmax() == 3


def test_penalty_divides_positive_scores_and_multiplies_negative_ones() -> None:
    scores = torch.tensor([2.0, -2.0, 3.0, -3.0, 0.0])
    result = penalize(scores, [0, 1, 1, 1, 4], 1.5)
    assert torch.allclose(result, torch.tensor([2 / 1.5, -3.0, 3.0, -3.0, 0.0]))


def test_penalty_changes_what_is_drawn() -> None:
    scores = torch.tensor([2.0, 1.9])
    generator = torch.Generator()
    greedy = Sampling(temperature=0, repetition_penalty=1.2)
    assert sample(scores, [], [], greedy, generator) == 0
    assert sample(scores, [0], [], greedy, generator) == 1


def test_scores_are_left_as_they_were() -> None:
    scores = PROBABILITIES.double().log()
    before = scores.clone()
    sample(scores, [1], [2], Sampling(), torch.Generator())
    assert torch.equal(scores, before)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_k", -1),
        ("top_p", 0.0),
        ("top_p", 1.01),
        ("top_p", math.nan),
        ("repetition_penalty", 0.0),
        ("repetition_penalty", -1.0),
        ("repetition_penalty", math.inf),
    ],
)
def test_values_out_of_range_are_named(name: str, value: float) -> None:
    with pytest.raises(InputError) as caught:
        Sampling(**{name: value})  # type: ignore[arg-type]
    assert name in caught.value.message
    assert caught.value.found == str(value)
    assert f"--{name.replace('_', '-')}" in str(caught.value)

"""Sample the next token from logits: repetition penalty, temperature, top-k, top-p."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from greffe.config.bounds import PositiveFraction, Rate, Temperature, TopK, check_number


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn; validated on construction."""

    temperature: float = 0.8
    """0 always takes the most likely token; higher values are more random."""
    top_k: int = 0
    """Draw from the k most likely tokens; 0 means all."""
    top_p: float = 0.95
    """Draw from the most likely tokens with this total probability; 1 means all."""
    repetition_penalty: float = 1.1
    """Values above 1 make tokens that already occur in the text less likely."""

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature, Temperature, example="--temperature 0.8")
        check_number("top_k", self.top_k, TopK, example="--top-k 50")
        check_number("top_p", self.top_p, PositiveFraction, example="--top-p 0.95")
        check_number(
            "repetition_penalty", self.repetition_penalty, Rate, example="--repetition-penalty 1.1"
        )


def penalize(scores: Tensor, seen: Sequence[int], penalty: float) -> Tensor:
    """Divide positive logits [vocab] of seen tokens by the penalty, multiply negative ones."""
    if penalty == 1 or not seen:
        return scores
    index = torch.tensor(sorted(set(seen)), device=scores.device)
    old = scores[index]
    return scores.index_copy(0, index, torch.where(old > 0, old / penalty, old * penalty))


def sample(
    scores: Tensor,
    seen: Sequence[int],
    banned: Sequence[int],
    sampling: Sampling,
    generator: torch.Generator,
) -> int:
    """Draw the next token id from logits [vocab], on the CPU in double precision."""
    scores = scores.detach().to("cpu", torch.float64, copy=True)
    scores = penalize(scores, seen, sampling.repetition_penalty)
    scores[list(banned)] = -math.inf
    if sampling.temperature == 0:
        return int(scores.argmax())
    order = torch.arange(scores.numel())
    if sampling.top_k or sampling.top_p < 1:
        # Stable, so that equal logits are ordered by id and top_k=1 equals argmax.
        scores, order = scores.sort(descending=True, stable=True)
    if sampling.top_k:
        scores = scores[: sampling.top_k]
    # Subtracting the maximum first avoids overflow at tiny temperatures.
    probabilities = ((scores - scores.max()) / sampling.temperature).softmax(0)
    if sampling.top_p < 1:
        # Keep tokens until those before them reach top_p; the most likely one is always kept.
        before = probabilities.cumsum(0) - probabilities
        probabilities = probabilities[before < sampling.top_p]
    return int(order[torch.multinomial(probabilities, 1, generator=generator)])

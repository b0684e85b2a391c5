"""From scores to the next token: repetition penalty, temperature, top-k, top-p. Knows no model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from greffe.errors import InputError


@dataclass(frozen=True)
class Sampling:
    """How the next token is drawn; checked when made."""

    temperature: float = 0.8
    """0: always the best token; higher: more surprises."""
    top_k: int = 0
    """Draw from so many best tokens; 0: from all."""
    top_p: float = 0.95
    """Draw from the best tokens that together have this probability; 1: from all."""
    repetition_penalty: float = 1.1
    """Above 1: tokens that stand in the text already become less likely."""

    def __post_init__(self) -> None:
        self._check("temperature", 0 <= self.temperature < math.inf, "0 or more", "0.8")
        self._check("top_k", self.top_k >= 0, "0 (all tokens) or more", "50")
        self._check("top_p", 0 < self.top_p <= 1, "above 0, at most 1", "0.95")
        self._check("repetition_penalty", 0 < self.repetition_penalty < math.inf, "above 0", "1.1")

    def _check(self, name: str, good: bool, expected: str, example: str) -> None:
        if not good:
            raise InputError(
                f"{name} cannot be {getattr(self, name)}.",
                expected=expected,
                found=str(getattr(self, name)),
                hint=f"for example --{name.replace('_', '-')} {example}",
            )


def penalise(scores: Tensor, seen: Sequence[int], penalty: float) -> Tensor:
    """Divide positive scores of seen tokens by the penalty, multiply negative ones; [vocab]."""
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
    """The next token's id from the vocabulary's scores [vocab]; CPU and double precision."""
    scores = scores.detach().to("cpu", torch.float64, copy=True)
    scores = penalise(scores, seen, sampling.repetition_penalty)
    scores[list(banned)] = -math.inf
    if sampling.temperature == 0:
        return int(scores.argmax())
    order = torch.arange(scores.numel())
    if sampling.top_k or sampling.top_p < 1:
        # Stable, so that equal scores rank by id and top_k=1 is what argmax says.
        scores, order = scores.sort(descending=True, stable=True)
    if sampling.top_k:
        scores = scores[: sampling.top_k]
    # The best score becomes 0 first: a tiny temperature then cannot overflow.
    shares = ((scores - scores.max()) / sampling.temperature).softmax(0)
    if sampling.top_p < 1:
        # A token stays while those before it have not reached top_p; the best one always does.
        shares = shares[shares.cumsum(0) - shares < sampling.top_p]
    return int(order[torch.multinomial(shares, 1, generator=generator)])

"""Generate text with a causal model, token by token, with cached keys and values.

Beyond the context the window slides: its last half is encoded again into a new cache, with
positions from zero as in training, so that a text may become longer than the context.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TypedDict, Unpack

import torch
from torch import Tensor

from greffe.config.bounds import NewTokens, Seed, check_number
from greffe.data.tokenizer import Tokenizer
from greffe.inference.forward import (
    device_of,
    evaluation_mode,
    require_finite,
    require_head,
)
from greffe.inference.sampling import Sampling, sample
from greffe.model.attention import Cache
from greffe.model.model import Model
from greffe.objectives.objective import objectives_with
from greffe.seeding import derive


class Choices(TypedDict, total=False):
    """Keyword arguments of `generate`, which has the defaults."""

    tokens: int
    temperature: float
    top_k: int
    top_p: float
    repetition_penalty: float
    seed: int


def generate(
    model: Model,
    tokenizer: Tokenizer,
    prompt: str,
    *,
    tokens: int = 40,
    temperature: float = 0.8,
    top_k: int = 0,
    top_p: float = 0.95,
    repetition_penalty: float = 1.1,
    seed: int = 0,
) -> Iterator[int]:
    """Yield at most `tokens` new token ids after the prompt; stop before <eos>."""
    sampling = Sampling(temperature, top_k, top_p, repetition_penalty)
    check_number("tokens", tokens, NewTokens, example="--tokens 40")
    check_number("seed", seed, Seed, example="--seed 1")
    require_head(
        model,
        "next_token",
        purpose="generate text",
        hint=f"models pretrained with --objective {objectives_with('next_token')} can do so",
    )
    # A generator function would check its arguments only when the first token is requested.
    return _generate(model, tokenizer, prompt, tokens, sampling, seed)


def stream_text(
    model: Model, tokenizer: Tokenizer, prompt: str, **choices: Unpack[Choices]
) -> Iterator[str]:
    """Yield the prompt as the model sees it and its continuation, piece by piece."""
    new_ids = generate(model, tokenizer, prompt, **choices)
    # One stream for both keeps the space between prompt and continuation.
    return tokenizer.decode_stream(chain(tokenizer.encode(prompt), new_ids))


def generate_text(
    model: Model, tokenizer: Tokenizer, prompt: str, **choices: Unpack[Choices]
) -> str:
    """Return the prompt and its continuation as one text."""
    return "".join(stream_text(model, tokenizer, prompt, **choices))


def window_start(start: int, length: int, context: int) -> int:
    """Return the start of the window over `length` tokens, given its start one token earlier."""
    return length - context // 2 if length - start > context else start


def _generate(
    model: Model, tokenizer: Tokenizer, prompt: str, tokens: int, sampling: Sampling, seed: int
) -> Iterator[int]:
    banned = [number for number in tokenizer.specials if number != tokenizer.eos]
    window = _Window(model)
    ids = tokenizer.begin(tokenizer.encode(prompt))
    for step in range(tokens):
        generator = torch.Generator().manual_seed(derive(seed, "generate", step))
        # Entered for each token: a mode held across a yield would leak into the caller.
        with evaluation_mode(model):
            chosen = sample(window.scores(ids), ids, banned, sampling, generator)
        if chosen == tokenizer.eos:
            return
        ids.append(chosen)
        yield chosen


class _Window:
    """Logits of the next token for a growing list of ids; each token is encoded once per window."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.context = model.spec.context
        self.start = 0
        self.encoded = 0
        self.cache = self._fresh_cache()

    def scores(self, ids: list[int]) -> Tensor:
        """Return the logits [vocab] of the token after `ids`."""
        start = window_start(self.start, len(ids), self.context)
        if start != self.start:
            self.start = self.encoded = start
            self.cache = self._fresh_cache()
        new = torch.tensor([ids[self.encoded :]]).to(device_of(self.model))  # [1, new]
        hidden = self.model.base(new, causal=True, cache=self.cache)  # [1, new, width]
        self.encoded = len(ids)
        scores = self.model.scores(hidden[0, -1], "next_token")
        require_finite(scores)
        return scores

    def _fresh_cache(self) -> Cache:
        return Cache(self.model.spec.layers, capacity=self.context)

"""Pooling: against plain Python, and blind to padding."""

from __future__ import annotations

from typing import get_args

import pytest
import torch

from greffe.config.sections import ModelSpec, Pooler
from greffe.model.pooling import pool, pooled_width

torch.set_num_threads(1)

POOLERS = get_args(Pooler)
WIDTH = 6
TOKEN_WIDTH = 4


def plain_pool(
    rows: list[list[list[float]]],
    tokens: list[list[list[float]]],
    lengths: list[int],
    pooler: str,
) -> list[list[float]]:
    result = []
    for row, embedded, length in zip(rows, tokens, lengths, strict=True):
        columns = list(zip(*row[:length], strict=True))
        mean = [sum(column) / length for column in columns]
        largest = [max(column) for column in columns]
        choices = {"mean": mean, "max": largest, "mean+max": mean + largest}
        embedding = [sum(column) / length for column in zip(*embedded[:length], strict=True)]
        choices |= {"mean+embedding": mean + embedding}
        choices |= {"first": row[0], "last": row[length - 1]}
        result.append(choices[pooler])
    return result


@pytest.mark.parametrize("pooler", POOLERS)
def test_poolers_against_plain_python(pooler):
    hidden, tokens = torch.randn(4, 7, WIDTH), torch.randn(4, 7, TOKEN_WIDTH)
    for lengths in ([7, 1, 3, 6], None):
        given = None if lengths is None else torch.tensor(lengths)
        expected = plain_pool(hidden.tolist(), tokens.tolist(), lengths or [7] * 4, pooler)
        torch.testing.assert_close(pool(hidden, given, pooler, tokens), torch.tensor(expected))


@pytest.mark.parametrize("pooler", POOLERS)
def test_padding_is_ignored(pooler):
    hidden, tokens = torch.randn(3, 5, WIDTH), torch.randn(3, 5, TOKEN_WIDTH)
    lengths = torch.tensor([2, 5, 0])
    spoiled = hidden.clone(), tokens.clone()
    for values in spoiled:
        values[0, 2:] = float("inf")
        values[2] = float("nan")
    pooled = pool(spoiled[0], lengths, pooler, spoiled[1])
    assert torch.equal(pooled, pool(hidden, lengths, pooler, tokens))
    assert torch.equal(pooled[2], torch.zeros_like(pooled[2]))


@pytest.mark.parametrize("pooler", POOLERS)
def test_width_is_that_of_the_pooled_vector(pooler):
    model = ModelSpec(width=WIDTH, heads=1, embedding_width=TOKEN_WIDTH)
    pooled = pool(torch.zeros(1, 2, WIDTH), None, pooler, torch.zeros(1, 2, TOKEN_WIDTH))
    assert pooled.shape == (1, pooled_width(model, pooler))

"""Counts become vectors: by hand, of any shape, always the same, and of the right size."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from greffe.config.sections import ModelSpec
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model, build_model
from greffe.model.word_vectors import factorize, positive_pmi, start_embedding

VOCAB = 40
COUNTS = [[4.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 6.0]]


def make_model(width: int = 8, **choices: Any) -> Model:
    spec = ModelSpec(width=width, layers=1, heads=2, feed_forward=8, **choices)
    return build_model(spec, VOCAB, {"next_token": NextTokenHead()}, seed=3)


def random_counts(pieces: int, contexts: int) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    rates = torch.rand(pieces, contexts, generator=generator) * 4
    return torch.poisson(rates, generator=generator)


def embedding(model: Model) -> Tensor:
    return model.base.embedding.weight.detach().clone()


def test_pmi_of_three_pieces_by_hand() -> None:
    sums = [5.0, 3.0, 8.0]  # of rows and of columns
    total = sum(value**0.75 for value in sums)
    expected = [
        [
            max(0.0, math.log(count / sums[row] * total / sums[column] ** 0.75)) if count else 0.0
            for column, count in enumerate(counts)
        ]
        for row, counts in enumerate(COUNTS)
    ]
    # 4 of the 5 neighbours of the first piece are itself: log(0.8 · 10.38 / 3.344) = 0.910.
    assert expected[0][0] == pytest.approx(0.910, abs=1e-3)
    assert expected[0][1] == 0.0  # a fifth is less than what chance gives
    torch.testing.assert_close(positive_pmi(torch.tensor(COUNTS)), torch.tensor(expected))


def test_rows_and_columns_without_counts_are_zero() -> None:
    counts = torch.zeros(5, 4)
    counts[:3, :3] = torch.tensor(COUNTS)
    found = positive_pmi(counts)
    torch.testing.assert_close(found[:3, :3], positive_pmi(torch.tensor(COUNTS)))
    assert found[3:].eq(0).all() and found[:, 3].eq(0).all()
    assert positive_pmi(torch.zeros(2, 2)).eq(0).all()


def test_vectors_are_those_of_the_whole_decomposition() -> None:
    # Values that fall steeply, as those of words do: the first ones are then found exactly.
    generator = torch.Generator().manual_seed(2)
    left, _ = torch.linalg.qr(torch.randn(60, 50, generator=generator))
    right, _ = torch.linalg.qr(torch.randn(50, 50, generator=generator))
    values = 0.7 ** torch.arange(50.0)
    found = factorize((left * values) @ right.T, 6, seed=0)
    assert found.shape == (60, 6)
    expected = left[:, :6] * values[:6].sqrt()
    expected *= expected.gather(0, expected.abs().argmax(dim=0, keepdim=True)).sign()
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_the_same_seed_gives_the_same_and_the_global_stream_is_left_alone() -> None:
    table = positive_pmi(random_counts(40, 40))
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = factorize(table, 4, seed=0)
    assert torch.rand(3).equal(expected)
    assert factorize(table, 4, seed=0).equal(first)
    assert not factorize(table, 2, seed=1).equal(factorize(table, 2, seed=0))


def test_signs_do_not_depend_on_the_seed() -> None:
    table = positive_pmi(random_counts(20, 20))  # whole: every seed finds the same
    torch.testing.assert_close(factorize(table, 4, 0), factorize(table, 4, 1), rtol=0, atol=1e-4)


@pytest.mark.parametrize("scale_embedding", [False, True])
def test_known_pieces_get_vectors_of_one_size_and_others_keep_theirs(scale_embedding: bool) -> None:
    model = make_model(scale_embedding=scale_embedding)
    before = embedding(model)
    pieces = torch.arange(5, 35).flip(0)
    counts = random_counts(30, 30)
    counts[3] = 0.0  # seen, but never near another
    assert start_embedding(model, pieces, counts, seed=0) == 29
    after = embedding(model)
    known = [piece for piece in pieces.tolist() if piece != pieces[3]]
    size = 0.05 if scale_embedding else 0.05 * math.sqrt(8)
    torch.testing.assert_close(after[known].norm(dim=1), torch.full((29,), size))
    others = sorted(set(range(VOCAB)) - set(known))
    assert after[others].equal(before[others])
    # The mean was taken away before all became of one size: hardly any direction is common.
    assert after[known].mean(dim=0).norm() < 0.2 * size


def test_an_embedding_narrower_than_the_base_gets_vectors_of_its_width() -> None:
    model = make_model(embedding_width=4)
    assert start_embedding(model, torch.arange(5, 35), random_counts(30, 30), seed=0) == 30
    sizes = embedding(model)[5:35].norm(dim=1)
    torch.testing.assert_close(sizes, torch.full((30,), 0.05 * math.sqrt(4)))


def test_rows_belong_to_their_pieces() -> None:
    model = make_model()
    pieces = torch.tensor([9, 30, 12, 7])
    # Two and two have the same neighbours: 9 is like 12, 30 is like 7.
    counts = torch.tensor([[0.0, 9, 1, 8], [9, 0, 8, 1], [1, 8, 0, 9], [8, 1, 9, 0]])
    start_embedding(model, pieces, counts, seed=0)
    rows = torch.nn.functional.normalize(embedding(model), dim=1)
    assert rows[9] @ rows[12] > 0 > rows[9] @ rows[30]
    assert rows[30] @ rows[7] > 0 > rows[12] @ rows[7]


@pytest.mark.parametrize(("pieces", "contexts"), [(3, 3), (30, 3), (8, 8)])
def test_columns_that_the_table_cannot_fill_keep_their_values(pieces: int, contexts: int) -> None:
    model = make_model(width=8)
    before = embedding(model)
    counts = random_counts(pieces, contexts) + 1
    counts[:contexts] += 20 * torch.eye(contexts)  # every piece has something of its own
    numbers = torch.arange(5, 5 + pieces)
    started = start_embedding(model, numbers, counts, seed=0)
    after = embedding(model)
    assert started > 1
    changed = after[numbers].ne(before[numbers]).any(dim=0)
    assert changed.tolist() == [column < contexts for column in range(8)]
    assert after.isfinite().all()


@pytest.mark.parametrize("counts", [torch.zeros(0, 0), torch.zeros(3, 3), torch.full((1, 1), 4.0)])
def test_too_little_to_count_changes_nothing(counts: Tensor) -> None:
    model = make_model()
    before = embedding(model)
    assert start_embedding(model, torch.arange(5, 5 + len(counts)), counts, seed=0) == 0
    assert embedding(model).equal(before)

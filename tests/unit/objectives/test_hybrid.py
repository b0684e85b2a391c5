"""Hybrid: causal and masked rows in one batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.objectives.causal import Causal
from greffe.objectives.hybrid import Hybrid
from greffe.objectives.masked import Masked

Make = Callable[..., Any]


def causal_rows(batch: Any) -> int:
    return len(batch.parts["causal"].ids) if "causal" in batch.parts else 0


@pytest.mark.parametrize("fraction", [0.5, 0.25, 0.3, 1 / 3, 0.9, 0.01])
def test_the_fraction_is_exact_over_time(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, make_rows: Make, fraction: float
) -> None:
    objective = Hybrid(causal_fraction=fraction).build(tiny_tokenizer, tied=True)
    done = causal = 0
    for size in (1, 2, 3, 5, 8, 20, 20, 20, 20):
        batch = objective.prepare(make_rows(tiny_rows, which=range(size), first=done))
        done += size
        causal += causal_rows(batch)
        assert abs(causal - fraction * done) < 1 + 1e-9


def test_a_row_is_read_the_same_way_at_any_number_of_ranks(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, make_rows: Make
) -> None:
    objective = Hybrid(causal_fraction=0.3).build(tiny_tokenizer, tied=True)

    def ways(which: range) -> dict[bytes, str]:
        batch = objective.prepare(make_rows(tiny_rows, which=which))
        return {row.numpy().tobytes(): way for way, part in batch.parts.items() for row in part.ids}

    assert ways(range(20)) == ways(range(0, 20, 2)) | ways(range(1, 20, 2))


def test_each_row_is_prepared_by_one_of_the_two_objectives(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, make_rows: Make
) -> None:
    objective = Hybrid(causal_fraction=0.5).build(tiny_tokenizer, tied=True)
    rows = make_rows(tiny_rows, which=range(10))
    batch = objective.prepare(rows)
    assert batch.tokens == int(rows.packed.lengths.sum())
    # Half of the rows, every other one, from the second on.
    causal = (
        Causal()
        .build(tiny_tokenizer, tied=True)
        .prepare(make_rows(tiny_rows, which=range(1, 10, 2)))
    )
    masked = (
        Masked()
        .build(tiny_tokenizer, tied=True)
        .prepare(make_rows(tiny_rows, which=range(0, 10, 2)))
    )
    for name, expected in (("causal", causal), ("masked", masked)):
        found = batch.parts[name]
        assert torch.equal(found.ids, expected.ids)
        assert found.targets is not None and expected.targets is not None
        assert torch.equal(found.targets, expected.targets)
    assert batch.counts == {**causal.counts, **masked.counts}
    assert batch.target_bytes == {**causal.target_bytes, **masked.target_bytes}


def test_a_batch_of_causal_or_masked_rows_alone_has_one_term(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, make_rows: Make, make_model: Make
) -> None:
    objective = Hybrid().build(tiny_tokenizer, tied=True)
    model = make_model(objective.heads())
    for first, term in ((0, "masked_token"), (1, "next_token")):
        batch = objective.prepare(make_rows(tiny_rows, which=[0], first=first))
        assert list(batch.counts) == [term]
        assert list(objective.loss(model, batch)) == [term]


def test_weights_are_the_fractions(tiny_tokenizer: Tokenizer) -> None:
    objective = Hybrid(causal_fraction=0.25).build(tiny_tokenizer, tied=True)
    assert objective.weights == {"next_token": 0.25, "masked_token": 0.75}


def test_running_numbers_may_be_large(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, make_rows: Make
) -> None:
    objective = Hybrid(causal_fraction=0.3).build(tiny_tokenizer, tied=True)
    counts = [
        causal_rows(objective.prepare(make_rows(tiny_rows, which=range(20), first=10**9 + 20 * n)))
        for n in range(5)
    ]
    assert np.sum(counts) == 30

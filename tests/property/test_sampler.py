"""Bijections, epochs and partitions, for any size."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.data.sampler import ExampleSampler, RowSampler, permuted

keys = st.integers(0, 2**63 - 1)
small = settings(deadline=None, max_examples=60)


@small
@given(total=st.integers(1, 3000), key=keys)
def test_permuted_is_a_bijection(total: int, key: int) -> None:
    found = permuted(np.arange(total, dtype=np.int64), total, key)
    assert found.dtype == np.int64
    assert np.array_equal(np.sort(found), np.arange(total))


@small
@given(total=st.integers(1, 2**48), key=keys, data=st.data())
def test_permuted_stays_inside_and_apart(total: int, key: int, data: st.DataObject) -> None:
    positions = data.draw(st.lists(st.integers(0, total - 1), min_size=1, max_size=30, unique=True))
    found = permuted(np.array(positions, dtype=np.int64), total, key)
    assert ((found >= 0) & (found < total)).all()
    assert len(set(found.tolist())) == len(positions)


@small
@given(seed=st.integers(0, 99), rows=st.integers(1, 200), batch=st.integers(1, 64))
def test_each_epoch_visits_each_row_once(seed: int, rows: int, batch: int) -> None:
    sampler = RowSampler(seed, rows, batch)
    steps = -(-2 * rows // batch)
    visited = np.concatenate([sampler.step(step) for step in range(steps)])
    for epoch in range(2):
        assert np.array_equal(np.sort(visited[epoch * rows : (epoch + 1) * rows]), np.arange(rows))


@small
@given(
    seed=st.integers(0, 99),
    rows=st.integers(1, 200),
    batch=st.integers(1, 64),
    step=st.integers(0, 50),
    ranks=st.integers(1, 8),
)
def test_ranks_share_out_the_global_batch(
    seed: int, rows: int, batch: int, step: int, ranks: int
) -> None:
    whole = RowSampler(seed, rows, batch).step(step)
    parts = [RowSampler(seed, rows, batch).step(step)[rank::ranks] for rank in range(ranks)]
    assert sorted(np.concatenate(parts)) == sorted(whole)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@small
@given(
    seed=st.integers(0, 99),
    lengths=st.lists(st.integers(1, 300), min_size=1, max_size=400),
    batch=st.integers(1, 40),
    epoch=st.integers(0, 5),
)
def test_example_batches_partition_the_epoch(
    seed: int, lengths: list[int], batch: int, epoch: int
) -> None:
    sampler = ExampleSampler(seed, tuple(lengths), batch)
    batches = sampler.epoch(epoch)
    assert len(batches) == sampler.steps_per_epoch
    assert np.array_equal(np.sort(np.concatenate(batches)), np.arange(len(lengths)))
    assert all(len(part) for part in batches)
    first = epoch * sampler.steps_per_epoch
    assert [sampler.step(first + index).tolist() for index in range(len(batches))] == [
        part.tolist() for part in batches
    ]

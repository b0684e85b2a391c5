"""Orders of rows and examples as pure functions of seed and step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.data.sampler import WINDOW_BATCHES, ExampleSampler, RowSampler, permuted


def like_reviews(seed: int) -> tuple[int, ...]:
    """1,600 lengths in tokens: many short texts, a few that fill the context."""
    drawn = np.random.default_rng(seed).lognormal(np.log(90), 0.8, size=1600)
    return tuple(int(length) for length in drawn.clip(4, 256))


def test_tiny_permutations() -> None:
    assert permuted(np.arange(1), 1, 5).tolist() == [0]
    assert permuted(np.arange(0), 10, 5).tolist() == []
    for total in (2, 3, 4, 5):
        orders = {tuple(permuted(np.arange(total), total, key).tolist()) for key in range(200)}
        assert all(sorted(order) == list(range(total)) for order in orders)
        # Every order of two, and most of the others, come up: no position is stuck.
        assert len(orders) >= min(2 * (total - 1), 24)


def test_a_permutation_looks_random() -> None:
    total = 10_000
    order = permuted(np.arange(total), total, 3)
    assert abs(np.corrcoef(np.arange(total), order)[0, 1]) < 0.04
    steps = np.abs(np.diff(order))
    # The mean distance of two random positions is a third of the whole.
    assert 0.30 < steps.mean() / total < 0.37
    assert (steps == 1).mean() < 0.005


def test_a_corpus_of_any_size_costs_nothing() -> None:
    total = 3 * 10**12
    positions = np.arange(5, dtype=np.int64) + 10**12
    found = permuted(positions, total, 1)
    assert ((found >= 0) & (found < total)).all()
    assert len(set(found.tolist())) == 5
    # A position has the same image alone and among others.
    assert permuted(positions[2:3], total, 1)[0] == found[2]


def test_epochs_have_their_own_order() -> None:
    sampler = RowSampler(seed=0, rows=64, batch=64)
    first, second = sampler.step(0), sampler.step(1)
    assert sorted(first) == sorted(second) == list(range(64))
    assert first.tolist() != second.tolist()


def test_seeds_have_their_own_order() -> None:
    orders = [RowSampler(seed, 64, 64).step(0).tolist() for seed in range(3)]
    assert orders[0] != orders[1] != orders[2]


def test_a_batch_larger_than_the_corpus_runs_over_several_epochs() -> None:
    sampler = RowSampler(seed=0, rows=3, batch=7)
    rows = np.concatenate([sampler.step(step) for step in range(3)])
    assert sampler.steps_per_epoch == 3 / 7
    assert [sorted(rows[i : i + 3].tolist()) for i in range(0, 21, 3)] == [[0, 1, 2]] * 7


def test_a_step_does_not_depend_on_the_steps_before() -> None:
    rows = RowSampler(seed=4, rows=100, batch=8)
    assert rows.step(37).tolist() == RowSampler(4, 100, 8).step(37).tolist()
    examples = ExampleSampler(seed=4, lengths=tuple(range(50)), batch=8)
    examples.step(3)
    fresh = ExampleSampler(seed=4, lengths=tuple(range(50)), batch=8)
    assert examples.step(37).tolist() == fresh.step(37).tolist()


def test_examples_of_like_length_go_together() -> None:
    lengths = tuple(int(n) for n in np.random.default_rng(0).integers(5, 200, size=320))
    sampler = ExampleSampler(seed=0, lengths=lengths, batch=8)
    assert 8 * WINDOW_BATCHES < 320
    padded = sum(len(batch) * max(lengths[i] for i in batch) for batch in sampler.epoch(0))
    shuffled = np.random.default_rng(1).permutation(320).reshape(-1, 8)
    at_random = sum(8 * max(lengths[i] for i in batch) for batch in shuffled)
    assert padded < 1.15 * sum(lengths) < at_random
    # Short texts do not all come first.
    means = [np.mean([lengths[i] for i in batch]) for batch in sampler.epoch(0)]
    assert abs(np.corrcoef(np.arange(len(means)), means)[0, 1]) < 0.5


def test_no_label_order_survives() -> None:
    """Unshuffled tables are a known cause of models that predict one class."""
    sampler = ExampleSampler(seed=0, lengths=(10,) * 400, batch=20)
    second_half = [np.mean(batch >= 200) for batch in sampler.epoch(0)]
    assert min(second_half) > 0.1 and max(second_half) < 0.9


# --- batches by tokens --------------------------------------------------------------------------


@settings(deadline=None, max_examples=80)
@given(
    lengths=st.one_of(
        st.lists(st.integers(0, 400), min_size=1, max_size=150),
        # So many that they are planned in several windows, with a few giants among dwarfs.
        st.lists(st.sampled_from([1, 2, 3, 5000]), min_size=100, max_size=300),
    ),
    batch=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_every_epoch_is_a_partition_into_as_many_batches(
    lengths: list[int], batch: int, seed: int
) -> None:
    sampler = ExampleSampler(seed, tuple(lengths), batch)
    for epoch in range(3):
        batches = sampler.epoch(epoch)
        assert len(batches) == sampler.steps_per_epoch == -(-len(lengths) // batch)
        assert all(len(part) for part in batches)
        assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))


@pytest.mark.parametrize("seed", range(4))
def test_batches_of_reviews_hold_little_padding_and_weigh_about_the_same(seed: int) -> None:
    lengths = np.array(like_reviews(seed))
    sampler = ExampleSampler(seed, like_reviews(seed), batch=16)
    for epoch in range(2):
        batches = sampler.epoch(epoch)
        sizes = np.array([len(part) for part in batches])
        assert sizes.mean() == 16
        assert sizes.min() >= 4 and sizes.max() <= 32
        padded = sizes * np.array([lengths[part].max() for part in batches])
        assert padded.sum() < 1.05 * lengths.sum()
        assert padded.max() < 2.2 * padded.mean()


def test_a_batch_of_short_texts_holds_more_of_them() -> None:
    lengths = np.array(like_reviews(0))
    batches = ExampleSampler(0, like_reviews(0), batch=16).epoch(0)
    by_length = sorted(batches, key=lambda part: lengths[part].mean())
    shortest, longest = by_length[:25], by_length[-25:]
    assert min(map(len, shortest)) > 16 > max(map(len, longest))
    assert np.mean([len(part) for part in shortest]) > 2 * np.mean([len(p) for p in longest])


@pytest.mark.parametrize(("count", "batch"), [(4, 2), (400, 20), (96, 3)])
def test_texts_of_one_length_make_batches_of_one_size(count, batch):
    batches = ExampleSampler(0, (10,) * count, batch).epoch(0)
    assert {len(part) for part in batches} == {batch}

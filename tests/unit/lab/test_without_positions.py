"""The tasks about positions: fair rows, and that order is lost without them."""

from __future__ import annotations

import numpy as np
import pytest

from greffe.lab.tasks import TaskSize
from greffe.lab.without_positions import (
    FIRST,
    SECOND,
    chain_task,
    last_word_entropy,
    order_task,
    ordered_rows,
)
from greffe.progress import Progress
from greffe.samples.toy import MarkovLanguage
from greffe.seeding import rng


def test_rows_hold_both_words_once_and_the_label_says_which_is_first() -> None:
    rows, labels = ordered_rows(rng(0, "test"), 200)
    for row, label in zip(rows, labels, strict=True):
        (first,), (second,) = np.flatnonzero(row == FIRST), np.flatnonzero(row == SECOND)
        assert (first < second) == (label == 1)
    assert sum(labels) == 100


def test_the_words_of_a_row_do_not_tell_its_label() -> None:
    rows, labels = ordered_rows(rng(0, "test"), 2000)
    bags = np.sort(np.stack(rows), axis=1)
    means = [bags[np.array(labels) == label].mean() for label in (0, 1)]
    assert means[0] == pytest.approx(means[1], rel=0.02)


def test_the_last_word_alone_lies_between_both_and_none() -> None:
    language = MarkovLanguage(0, words=8, order=2, branching=2)
    assert language.entropy_rate < last_word_entropy(language) < 3.0


def test_where_the_word_before_does_not_matter_the_last_word_is_all() -> None:
    language = MarkovLanguage(0, words=4, order=2, branching=2)
    # The same row of chances whichever word stood before the last one.
    language.next_word = np.tile(MarkovLanguage(0, words=4, branching=2).next_word, (4, 1))
    assert last_word_entropy(language) == pytest.approx(language.entropy_rate)


@pytest.mark.slow
def test_a_bag_of_words_has_no_order_and_the_mask_gives_some() -> None:
    with Progress("test", None) as progress:
        found = order_task(TaskSize(seeds=1, order_steps=80), progress)
    accuracy = {(arm.reading, arm.has_positions): arm.accuracy.mean for arm in found.arms}
    assert progress.done == 4 * 80
    assert accuracy["bidirectional", True] > 0.8
    assert accuracy["bidirectional", False] == pytest.approx(0.5, abs=0.1)
    assert accuracy["causal", True] > 0.8
    assert accuracy["causal", False] > 0.8


@pytest.mark.slow
def test_the_last_two_words_are_harder_to_tell_apart_without_positions() -> None:
    size = TaskSize(seeds=2, chain_steps=250, rows=2000, test_rows=100)
    with Progress("test", None) as progress:
        found = chain_task(size, progress)
    placed, bare = found.arms
    assert placed.has_positions and not bare.has_positions
    assert found.best_bits < placed.bits.mean < bare.bits.mean - 0.05
    assert bare.bits.mean < found.last_word_bits

"""The mask task: what it measures, and that it finds what the lab says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from greffe.lab.tasks import PREDICTIONS, NextWord, TaskSize, tiny_model
from greffe.lab.without_mask import generate_rows, mask_task, past_bits, possible_fraction
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.progress import Progress
from greffe.samples.toy import MarkovLanguage


def test_with_the_mask_the_past_alone_changes_nothing() -> None:
    model = tiny_model(10, 8, {PREDICTIONS: NextTokenHead(tied=False)}, 0)
    rows = torch.arange(24).view(4, 6) % 10
    whole = NextWord(causal=True).bits(model, rows)
    assert past_bits(model, rows, causal=True) == pytest.approx(whole, rel=1e-5)
    assert past_bits(model, rows, causal=False) != pytest.approx(whole, rel=1e-3)


def test_possible_words_are_the_followers_alone() -> None:
    language = MarkovLanguage(0, words=5, branching=2)
    likely = np.argsort(language.next_word[0])
    followers, others = likely[-2:], likely[:-2]
    rows = torch.tensor([[0, int(followers[0])], [0, int(followers[1])], [0, int(others[0])]])
    assert possible_fraction(language, rows) == pytest.approx(2 / 3)


def test_writing_goes_on_from_the_given_words() -> None:
    model = tiny_model(10, 8, {PREDICTIONS: NextTokenHead(tied=False)}, 0)
    start = torch.tensor([[3], [4]])
    written = generate_rows(model, start, 5, causal=True, seed=1)
    assert written.shape == (2, 6)
    assert written[:, :1].equal(start)
    assert written.equal(generate_rows(model, start, 5, causal=True, seed=1))
    assert not written.equal(generate_rows(model, start, 5, causal=True, seed=2))


@pytest.mark.slow
def test_without_the_mask_training_flatters_and_writing_fails() -> None:
    size = TaskSize(seeds=2, mask_steps=150, rows=1000, test_rows=50)
    with Progress("test", None) as progress:
        found = mask_task(size, progress)
    assert progress.done == 2 * 2 * 150
    masked, bare = found.arms
    assert masked.has_mask and not bare.has_mask
    assert masked.whole_bits.mean == pytest.approx(masked.past_bits.mean, rel=1e-4)
    assert masked.past_bits.mean < found.best_bits + 0.4
    assert bare.whole_bits.mean < found.best_bits
    assert bare.past_bits.mean > masked.past_bits.mean + 1
    assert masked.possible.mean > 0.8 > bare.possible.mean + 0.2
    assert [point.step for point in masked.curve][-1] == 150
    assert masked.curve[0].mean == pytest.approx(found.blind_bits, abs=0.4)

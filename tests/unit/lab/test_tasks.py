"""What the small tasks share: rows, the best possible loss, a training that learns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from greffe.lab.tasks import (
    PREDICTIONS,
    NextWord,
    best_bits,
    drawn,
    fit,
    language_rows,
    one_thread,
    tiny_model,
)
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.samples.toy import MarkovLanguage


def test_rows_are_numbers_of_the_documents_words() -> None:
    language = MarkovLanguage(0, words=6)
    rows = language_rows(language, 3, 5, seed=4)
    texts = list(language.documents(3, 4, length=5))
    assert [" ".join(language.words[word] for word in row) for row in rows.tolist()] == texts


@pytest.mark.parametrize("order", [1, 2])
def test_the_best_bits_of_long_rows_are_the_entropy_rate(order: int) -> None:
    language = MarkovLanguage(0, words=6, order=order, branching=2)
    rows = language_rows(language, 300, 200, seed=1)
    assert best_bits(language, rows) == pytest.approx(language.entropy_rate, rel=0.02)


def test_the_best_bits_of_one_row_by_hand() -> None:
    language = MarkovLanguage(0, words=4, order=2, branching=2)
    row = [2, 1, 3]
    starts = language.stationary.reshape(4, 4)
    first = starts[2, 1] / starts[2].sum()
    second = language.next_word[2 * 4 + 1, 3]
    expected = -(np.log2(first) + np.log2(second)) / 2
    assert best_bits(language, torch.tensor([row])) == pytest.approx(expected)


def test_the_probabilities_behind_the_best_bits_sum_to_one() -> None:
    language = MarkovLanguage(0, words=3, order=2, branching=2)
    rows = torch.tensor(list(itertools.product([0], range(3), range(3))))
    probabilities = [2 ** (-2 * best_bits(language, row[None])) for row in rows]
    assert sum(probabilities) == pytest.approx(1.0)


def test_every_word_but_the_first_is_predicted() -> None:
    batch = NextWord(causal=True).prepare(torch.tensor([[4, 5, 6], [7, 8, 9]]))
    assert batch.indices is not None and batch.targets is not None
    assert batch.indices.tolist() == [0, 1, 3, 4]
    assert batch.targets.tolist() == [5, 6, 8, 9]


def test_without_the_mask_the_last_word_changes_the_scores_before_it() -> None:
    model = tiny_model(10, 8, {PREDICTIONS: NextTokenHead(tied=False)}, 0)
    rows = torch.tensor([[4, 5, 6], [4, 5, 7]])
    for causal, is_same in ((True, True), (False, False)):
        scores = model(rows, PREDICTIONS, causal=causal)[:, :2]
        assert torch.allclose(scores[0], scores[1]) == is_same


def test_training_learns_and_is_repeatable() -> None:
    language = MarkovLanguage(0, words=6, branching=2)
    rows = language_rows(language, 200, 9, seed=1)
    task = NextWord(causal=True)

    def losses() -> list[float]:
        model = tiny_model(6, 9, {PREDICTIONS: NextTokenHead(tied=False)}, 0)
        return list(
            fit(model, task, lambda step: task.prepare(drawn(rows, 0, step)), steps=30, seed=0)
        )

    first = losses()
    assert len(first) == 30
    assert first[-1] < 0.8 * first[0]
    assert losses() == first


def test_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ValueError, match="stop"), one_thread():
        assert torch.get_num_threads() == 1
        raise ValueError("stop")
    assert torch.get_num_threads() == before

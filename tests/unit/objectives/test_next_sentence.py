"""Next sentence: true continuations and random ones, in equal numbers and of equal length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from greffe.data.batches import Batch
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.objectives.next_sentence import NextSentence, NextSentenceObjective

Make = Callable[..., Any]
LENGTH = 32


@pytest.fixture
def objective(tiny_tokenizer: Tokenizer) -> NextSentenceObjective:
    return NextSentence().build(tiny_tokenizer, tied=True)


def shifted(packed: PackedRows, by: int) -> PackedRows:
    """Each row's partner: the row `by` rows later."""
    return PackedRows(
        **{name: np.roll(values, -by, axis=0) for name, values in vars(packed).items()}
    )


def halves(objective: NextSentenceObjective, batch: Batch) -> list[tuple[list[int], list[int]]]:
    """The two halves of each row, with what was hidden put back."""
    assert batch.indices is not None and batch.targets is not None
    flat = batch.ids.reshape(-1).clone()
    flat[batch.indices] = batch.targets
    tokenizer = objective.tokenizer
    found = []
    for row in flat.view_as(batch.ids).tolist():
        real = [token for token in row if token != tokenizer.pad]
        assert real[0] == tokenizer.sos and real[-1] == tokenizer.eos
        middle = real.index(tokenizer.eos)
        assert real.count(tokenizer.eos) == 2 and real.count(tokenizer.sos) == 1
        found.append((real[1:middle], real[middle + 1 : -1]))
    return found


@pytest.fixture
def rows(pack: Make) -> PackedRows:
    """A document a row, each made of one token of its own: whose a token is can be seen."""
    packed: PackedRows = pack([[270 + number] * (LENGTH - 2) for number in range(200)], LENGTH)
    return packed


def test_half_of_the_pairs_are_random_and_labelled_so(
    objective: NextSentenceObjective, rows: PackedRows, make_rows: Make
) -> None:
    batch = objective.prepare(make_rows(rows, partners=shifted(rows, 7)))
    assert batch.follows is not None
    for (first, second), follows in zip(halves(objective, batch), batch.follows, strict=True):
        assert len(set(first)) == 1 and len(set(second)) == 1
        assert (first[0] == second[0]) == bool(follows)
    assert 0.4 < float(batch.follows.float().mean()) < 0.6
    assert batch.counts["next_sentence"] == 200


def test_true_pairs_are_contiguous_text_of_one_document(
    objective: NextSentenceObjective, pack: Make, make_rows: Make
) -> None:
    packed = pack([list(range(300, 330)), list(range(400, 430))], 32)
    for seed in range(20):
        batch = objective.prepare(make_rows(packed, seed=seed, partners=shifted(packed, 1)))
        assert batch.follows is not None
        for number, (first, second) in enumerate(halves(objective, batch)):
            begin = 300 + 100 * number
            assert first == list(range(begin, begin + len(first)))
            if batch.follows[number]:
                assert second == list(range(first[-1] + 1, first[-1] + 1 + len(second)))
            else:
                assert second[0] // 100 != first[0] // 100
                assert second == list(range(second[0], second[0] + len(second)))


def test_neither_half_is_empty(
    objective: NextSentenceObjective, pack: Make, make_rows: Make
) -> None:
    for size in (3, 4, 5, 9):
        packed = pack([[300 + n] * size for n in range(40)], size + 2)
        batch = objective.prepare(make_rows(packed, partners=shifted(packed, 1)))
        assert all(first and second for first, second in halves(objective, batch))


def test_rows_fit_the_context(
    objective: NextSentenceObjective, tiny_rows: PackedRows, rows: PackedRows, make_rows: Make
) -> None:
    for packed in (rows, tiny_rows):
        batch = objective.prepare(make_rows(packed, partners=shifted(packed, 3)))
        assert batch.ids.shape[1] <= packed.ids.shape[1]
        assert batch.tokens == sum(len(a) + len(b) + 3 for a, b in halves(objective, batch))


def test_the_length_does_not_give_the_answer_away(
    objective: NextSentenceObjective, pack: Make, make_rows: Make
) -> None:
    """Short documents beside long strangers: a model that only counts must learn nothing."""
    short = pack([[300] * 10] * 400, 12)
    long = pack([[301] * 10, *[[302] * 46] * 400], 48)
    partners = PackedRows(**{name: values[1:401] for name, values in vars(long).items()})
    batch = objective.prepare(make_rows(short, partners=partners))
    assert batch.follows is not None
    lengths = torch.tensor([len(second) for _, second in halves(objective, batch)]).float()
    follows = batch.follows.bool()
    assert follows.any() and not follows.all()
    assert abs(float(lengths[follows].mean() - lengths[~follows].mean())) < 0.5
    assert float(lengths[~follows].max()) <= float(lengths[follows].max())


def test_a_partner_of_the_same_document_is_not_used(
    objective: NextSentenceObjective, pack: Make, make_rows: Make
) -> None:
    """A long document covers many rows: another row of it is not another document."""
    packed = pack([[300] * 400], LENGTH)
    batch = objective.prepare(make_rows(packed, partners=shifted(packed, 2)))
    assert batch.follows is not None and bool(batch.follows.all())


def test_another_document_of_the_partner_row_is_used(
    objective: NextSentenceObjective, pack: Make, make_rows: Make
) -> None:
    # Row 0: document 0 alone; row 1: its end, then document 1.
    packed = pack([[300] * 40, [301] * 20], LENGTH)
    found = set()
    for seed in range(30):
        batch = objective.prepare(
            make_rows(packed, which=[0], seed=seed, partners=shifted(packed, 1))
        )
        assert batch.follows is not None
        ((_, second),) = halves(objective, batch)
        found.add((int(batch.follows[0]), second[0]))
    assert found == {(1, 300), (0, 301)}


def test_sentences_are_cut_at_their_ends(
    objective: NextSentenceObjective, pack: Make, make_rows: Make
) -> None:
    tokenizer = objective.tokenizer
    text = "Ce livre est long. Ce roman est beau. Le film est triste."
    ids = tokenizer.encode(text)
    packed = pack([ids], len(ids) + 3)
    cuts = set()
    for seed in range(20):
        batch = objective.prepare(make_rows(packed, seed=seed, partners=packed))
        ((first, second),) = halves(objective, batch)
        cuts.add(tokenizer.decode(first))
        assert first + second == ids
    assert cuts <= {"Ce livre est long.", "Ce livre est long. Ce roman est beau."}


def test_rows_without_text_give_no_nan(
    objective: NextSentenceObjective, pack: Make, make_rows: Make, make_model: Make
) -> None:
    packed = pack([[], [300], []], 8)
    batch = objective.prepare(make_rows(packed, partners=packed))
    for value in objective.loss(make_model(objective.heads()), batch).values():
        assert bool(torch.isfinite(value))


def test_masking_and_both_terms(
    objective: NextSentenceObjective, tiny_rows: PackedRows, make_rows: Make, make_model: Make
) -> None:
    batch = objective.prepare(make_rows(tiny_rows, partners=shifted(tiny_rows, 5)))
    expected = sum(
        max(1, round(0.15 * (len(first) + len(second))))
        for first, second in halves(objective, batch)
    )
    assert batch.counts["masked_token"] == expected
    losses = objective.loss(make_model(objective.heads()), batch)
    chance = float(np.log(2))
    mean = float(losses["next_sentence"].detach()) / batch.counts["next_sentence"]
    assert mean == pytest.approx(chance, abs=0.05)


def test_the_weight_of_the_second_term(tiny_tokenizer: Tokenizer) -> None:
    objective = NextSentence(weight=0.25).build(tiny_tokenizer, tied=True)
    assert objective.weights == {"masked_token": 1.0, "next_sentence": 0.25}

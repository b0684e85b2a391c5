"""Document: halves that do not see each other, and the words of the other half."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from greffe.data.batches import Batch
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.objectives.document import SHORTEST, Document, DocumentObjective

Make = Callable[..., Any]


@pytest.fixture
def objective(tiny_tokenizer: Tokenizer) -> DocumentObjective:
    return Document().build(tiny_tokenizer, tied=True)


@pytest.fixture
def rows(pack: Make) -> PackedRows:
    """Rows of two documents; no word occurs twice, so each word names its place."""
    packed: PackedRows = pack([range(300, 322), range(330, 352), [360, 361]], 26)
    return packed


def words_of(batch: Batch, half: int) -> set[int]:
    assert batch.words is not None and batch.word_documents is not None
    return set(batch.words[batch.word_documents == half].tolist())


def test_the_words_of_a_half_are_those_of_the_other_half(
    objective: DocumentObjective, rows: PackedRows, make_rows: Make
) -> None:
    specials = set(objective.tokenizer.specials)
    seen_cuts = set()
    for seed in range(20):
        batch = objective.prepare(make_rows(rows, seed=seed))
        assert batch.documents is not None
        for row, ids in enumerate(rows.ids):
            real = slice(0, int(rows.lengths[row]))
            halves, documents = batch.documents[row].numpy()[real], rows.documents[row, real]
            for document in np.unique(documents):
                found = np.unique(halves[documents == document])
                size = int((documents == document).sum())
                assert len(found) == (2 if size >= SHORTEST else 1)
                if len(found) == 2:
                    first, second = (set(ids[real][halves == half].tolist()) for half in found)
                    assert words_of(batch, int(found[0])) == second - specials
                    assert words_of(batch, int(found[1])) == first - specials
                    seen_cuts.add(len(first))
    assert len(seen_cuts) > 5


def test_halves_do_not_see_each_other(
    objective: DocumentObjective, rows: PackedRows, make_rows: Make, make_model: Make
) -> None:
    model = make_model(objective.heads()).eval()
    batch = objective.prepare(make_rows(rows))
    assert batch.documents is not None
    half = batch.documents[0, 0]
    changed = batch.ids.clone()
    changed[0, batch.documents[0] != half] = 305

    def read(ids: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = model.base(
            ids,
            causal=False,
            lengths=batch.lengths,
            documents=batch.documents,
            positions=batch.positions,
        )
        return hidden[0][batch.documents[0] == half]

    torch.testing.assert_close(read(batch.ids), read(changed))


def test_the_loss_is_the_cross_entropy_of_the_words(
    objective: DocumentObjective, tiny_rows: PackedRows, make_rows: Make, make_model: Make
) -> None:
    model = make_model(objective.heads()).eval()
    batch = objective.prepare(make_rows(tiny_rows, which=range(4)))
    assert batch.documents is not None and batch.positions is not None
    assert batch.words is not None and batch.word_documents is not None
    hidden = model.base(
        batch.ids, causal=False, documents=batch.documents, positions=batch.positions
    )
    expected = torch.zeros(())
    for word, half in zip(batch.words, batch.word_documents, strict=True):
        mean = hidden[batch.documents == half].mean(dim=0)
        scores = model.heads["document_words"](mean, model.base.embedding.weight)
        expected = expected - scores.log_softmax(dim=-1)[word]
    torch.testing.assert_close(objective.loss(model, batch)["document_words"], expected)


def test_rows_without_a_long_document_predict_hidden_tokens_only(
    objective: DocumentObjective, pack: Make, make_rows: Make, make_model: Make
) -> None:
    batch = objective.prepare(make_rows(pack([[300, 301], [302, 303]], 8)))
    losses = objective.loss(make_model(objective.heads()), batch)
    assert batch.counts["document_words"] == 0 and losses["document_words"] == 0
    assert losses["masked_token"] > 0

"""Causal language modeling: every token but a document's first is predicted once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.objectives.causal import Causal, CausalObjective

Make = Callable[..., Any]


@pytest.fixture
def objective(tiny_tokenizer: Tokenizer) -> CausalObjective:
    return Causal().build(tiny_tokenizer, tied=True)


def test_each_token_but_a_documents_first_is_predicted_once(
    objective: CausalObjective, tiny_rows: PackedRows, make_rows: Make
) -> None:
    batch = objective.prepare(make_rows(tiny_rows))
    expected = {}
    rows, width = tiny_rows.ids.shape
    for row in range(rows):
        for column in range(1, int(tiny_rows.lengths[row])):
            if tiny_rows.documents[row, column] == tiny_rows.documents[row, column - 1]:
                expected[row * width + column - 1] = int(tiny_rows.ids[row, column])
    assert batch.indices is not None and batch.targets is not None
    assert batch.indices.tolist() == list(expected)
    assert batch.targets.tolist() == list(expected.values())
    assert batch.counts == {"next_token": len(expected)}
    assert batch.tokens == int(tiny_rows.lengths.sum())


def test_no_document_is_predicted_from_another(
    objective: CausalObjective, tiny_rows: PackedRows, make_rows: Make
) -> None:
    batch = objective.prepare(make_rows(tiny_rows))
    tokenizer = objective.tokenizer
    assert batch.indices is not None and batch.targets is not None
    assert tokenizer.sos not in batch.targets
    assert tokenizer.pad not in batch.targets
    assert tokenizer.eos in batch.targets
    before = batch.ids.reshape(-1)[batch.indices]
    assert tokenizer.eos not in before


def test_bytes_are_those_of_the_targets(
    objective: CausalObjective, pack: Make, make_rows: Make
) -> None:
    text = "Ce roman est très beau."
    ids = objective.tokenizer.encode(text)
    batch = objective.prepare(make_rows(pack([ids], 64)))
    # The tokenizer puts a space before the first word; <eos> stands for no byte.
    assert batch.target_bytes == {"next_token": len(f" {text}".encode())}


def test_the_loss_is_the_plain_cross_entropy(
    objective: CausalObjective, tiny_rows: PackedRows, make_rows: Make, make_model: Make
) -> None:
    model = make_model(objective.heads())
    batch = objective.prepare(make_rows(tiny_rows))
    scores = model(
        batch.ids,
        "next_token",
        causal=True,
        lengths=batch.lengths,
        documents=batch.documents,
        positions=batch.positions,
    )
    assert batch.targets is not None
    expected = F.cross_entropy(scores.flatten(0, 1)[batch.indices], batch.targets, reduction="sum")
    assert torch.allclose(objective.loss(model, batch)["next_token"], expected, rtol=1e-5)


def test_documents_of_a_row_do_not_see_each_other(
    objective: CausalObjective, pack: Make, make_rows: Make, make_model: Make
) -> None:
    model = make_model(objective.heads())
    first, second = list(range(300, 308)), list(range(320, 330))

    def loss(*documents: list[int]) -> float:
        batch = objective.prepare(make_rows(pack(documents, 32)))
        return float(objective.loss(model, batch)["next_token"].detach())

    assert loss(first, second) == pytest.approx(loss(first) + loss(second), rel=1e-5)
    assert loss(first, second) == pytest.approx(loss(second, first), rel=1e-5)


def test_a_row_with_nothing_to_predict_has_no_loss(
    objective: CausalObjective, pack: Make, make_rows: Make, make_model: Make
) -> None:
    packed = pack([list(range(300, 307))], 8)  # the second row is one <eos>
    batch = objective.prepare(make_rows(packed, which=[1]))
    assert batch.counts == {"next_token": 0}
    model = make_model(objective.heads())
    loss = objective.loss(model, batch)["next_token"]
    assert float(loss.detach()) == 0.0
    loss.backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is None or bool(torch.isfinite(p.grad).all()) for p in model.parameters())

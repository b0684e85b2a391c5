"""Masked language modeling: hidden tokens are predicted, and only they."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.objectives.masked import Masked

Make = Callable[..., Any]


def test_every_row_has_something_to_predict(
    tiny_tokenizer: Tokenizer, pack: Make, make_rows: Make
) -> None:
    objective = Masked(ratio=0.01).build(tiny_tokenizer, tied=True)
    batch = objective.prepare(make_rows(pack([[300], [301, 302]], 8)))
    assert batch.counts == {"masked_token": 1}
    assert batch.targets is not None and int(batch.targets[0]) in (300, 301, 302)


def test_a_row_of_specials_alone_gives_no_nan(
    tiny_tokenizer: Tokenizer, pack: Make, make_rows: Make, make_model: Make
) -> None:
    objective = Masked().build(tiny_tokenizer, tied=True)
    batch = objective.prepare(make_rows(pack([[], []], 8)))
    assert batch.counts == {"masked_token": 0}
    loss = objective.loss(make_model(objective.heads()), batch)["masked_token"]
    assert float(loss.detach()) == 0.0


def test_targets_are_the_hidden_tokens(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, make_rows: Make
) -> None:
    objective = Masked().build(tiny_tokenizer, tied=True)
    batch = objective.prepare(make_rows(tiny_rows))
    assert batch.targets is not None and batch.indices is not None
    original = torch.from_numpy(tiny_rows.ids).reshape(-1)
    assert torch.equal(original[batch.indices], batch.targets)
    restored = batch.ids.reshape(-1).clone()
    restored[batch.indices] = batch.targets
    assert torch.equal(restored, original)
    sizes = tiny_tokenizer.token_bytes[batch.targets.numpy()]
    assert batch.target_bytes == {"masked_token": int(sizes.sum())}


def test_the_loss_is_the_cross_entropy_at_the_hidden_tokens(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, make_rows: Make, make_model: Make
) -> None:
    objective = Masked().build(tiny_tokenizer, tied=False)
    model = make_model(objective.heads())
    batch = objective.prepare(make_rows(tiny_rows))
    scores = model(
        batch.ids,
        "masked_token",
        causal=False,
        lengths=batch.lengths,
        documents=batch.documents,
        positions=batch.positions,
    )
    assert batch.targets is not None
    expected = F.cross_entropy(scores.flatten(0, 1)[batch.indices], batch.targets, reduction="sum")
    assert torch.allclose(objective.loss(model, batch)["masked_token"], expected, rtol=1e-5)


def test_only_hidden_tokens_go_through_the_head(
    tiny_tokenizer: Tokenizer, tiny_rows: PackedRows, make_rows: Make, make_model: Make
) -> None:
    objective = Masked().build(tiny_tokenizer, tied=True)
    model = make_model(objective.heads())
    batch = objective.prepare(make_rows(tiny_rows))
    seen: list[int] = []
    head = model.vocabulary_head("masked_token")
    features = head.features
    head.features = lambda hidden: seen.append(len(hidden)) or features(hidden)
    objective.loss(model, batch)
    assert seen == [batch.counts["masked_token"]]

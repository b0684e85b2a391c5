"""A head that begins as a linear classifier of the untouched base."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from greffe.config import Classification, ClassificationHead, ModelSpec
from greffe.data.tokenizer import Tokenizer
from greffe.inference.predict import classify_logits
from greffe.model.model import Model, build_model
from greffe.stages import head_start
from greffe.stages.head_start import start_head
from greffe.stages.labelled import LabelledRows
from greffe.world import World

SPEC = Classification(head_start="probe")
WORDS = ["superbe", "pénible", "moyen"]


def made(tokenizer: Tokenizer, pooler: str, classes: int) -> Model:
    shape = ModelSpec(width=16, layers=1, heads=2, feed_forward=32, context=32)
    head = ClassificationHead(classes=classes, pooler=pooler)
    return build_model(shape, tokenizer.size, {"classification": head}, seed=0)


def labelled(tokenizer: Tokenizer, classes: int) -> LabelledRows:
    texts = [f"un livre {WORDS[place % classes]} " * (1 + place % 3) for place in range(60)]
    rows = [tokenizer.wrap(tokenizer.encode(text)) for text in texts]
    return LabelledRows(rows, np.arange(60) % classes)


def start(model: Model, rows: LabelledRows, tokenizer: Tokenizer, spec: Classification) -> None:
    start_head(model, rows, tokenizer, spec, causal=False, seed=0, world=World())


@pytest.mark.parametrize("pooler", ["mean", "last", "mean+max"])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_knows_the_rows_before_the_first_step(
    tiny_tokenizer: Tokenizer, pooler: str, classes: int
) -> None:
    model = made(tiny_tokenizer, pooler, classes)
    rows = labelled(tiny_tokenizer, classes)
    base = {name: value.clone() for name, value in model.base.state_dict().items()}
    start(model, rows, tiny_tokenizer, SPEC)
    scores = classify_logits(model, rows.ids, tiny_tokenizer.pad, causal=False)
    assert (scores.argmax(1).numpy() == rows.truth).mean() > 0.9
    assert all(torch.equal(base[name], value) for name, value in model.base.state_dict().items())
    assert model.training


def test_at_random_means_as_built(tiny_tokenizer: Tokenizer) -> None:
    model, same = made(tiny_tokenizer, "mean", 2), made(tiny_tokenizer, "mean", 2)
    start(model, labelled(tiny_tokenizer, 2), tiny_tokenizer, Classification())
    pairs = zip(model.parameters(), same.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


def test_a_base_that_is_no_number_keeps_its_head(tiny_tokenizer: Tokenizer) -> None:
    model, same = made(tiny_tokenizer, "mean", 2), made(tiny_tokenizer, "mean", 2)
    model.base.embedding.weight.data.fill_(float("nan"))
    start(model, labelled(tiny_tokenizer, 2), tiny_tokenizer, SPEC)
    assert torch.equal(
        model.get_parameter("heads.classification.score.weight"),
        same.get_parameter("heads.classification.score.weight"),
    )


def test_of_many_rows_some_are_read(tiny_tokenizer: Tokenizer, monkeypatch, capsys) -> None:
    monkeypatch.setattr(head_start, "PROBED_ROWS", 20)
    start(made(tiny_tokenizer, "mean", 2), labelled(tiny_tokenizer, 2), tiny_tokenizer, SPEC)
    assert "of 20 rows" in capsys.readouterr().err

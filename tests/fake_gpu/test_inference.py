"""Prediction, generation, filling, attribution and features with a model on a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.fake_gpu.conftest import NAME, FakeGpu, Waiting

from greffe.baselines.features import base_features
from greffe.config.components import HeadSpec, PositionSpec
from greffe.config.sections import ModelSpec
from greffe.data.tokenizer import Tokenizer
from greffe.inference.attribution import word_weights
from greffe.inference.fill import fill
from greffe.inference.generate import generate
from greffe.inference.predict import predict
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.heads.next_token_head import NextTokenHead

LABELS = ["bad", "good"]
HEADS: dict[str, HeadSpec] = {
    "classification": ClassificationHead(classes=2),
    "masked_token": MaskedTokenHead(),
    "next_token": NextTokenHead(),
}
TEXTS = ["Ce livre est long.", "Un roman magnifique, et je le relirai. " * 20, ""]


@pytest.fixture(params=sorted(PositionSpec.kinds()))
def model(request: pytest.FixtureRequest, tiny_tokenizer: Tokenizer, gpu: FakeGpu, numbers):
    numbers()
    spec = ModelSpec(
        width=16,
        layers=2,
        heads=2,
        feed_forward=32,
        context=24,
        position={"kind": request.param},
    )
    made = gpu.model(spec, tiny_tokenizer.size, HEADS, torch.bfloat16).eval()
    with Waiting(refuse=False) as waiting:
        yield made
    assert waiting.seen, "nothing was read from the device"
    assert {parameter.device.type for parameter in made.parameters()} == {NAME}


@pytest.mark.parametrize("causal", [True, False])
def test_prediction(model, tiny_tokenizer: Tokenizer, causal: bool) -> None:
    found = list(predict(model, tiny_tokenizer, LABELS, TEXTS, causal=causal))
    assert len(found) == 3 and found[1].windows > 1


def test_generation_beyond_the_context(model, tiny_tokenizer: Tokenizer, monkeypatch) -> None:
    # What is drawn has no number: one that is not <eos>.
    monkeypatch.setattr("greffe.inference.generate.sample", drawn)
    assert len(list(generate(model, tiny_tokenizer, "Ce livre", tokens=30))) == 30


def drawn(scores, *_: object) -> int:
    assert scores.device.type == NAME
    assert scores.detach().to("cpu", torch.float64, copy=True).device.type == "cpu"
    return 99


def test_filling(model, tiny_tokenizer: Tokenizer) -> None:
    [first, second] = fill(model, tiny_tokenizer, "Ce <mask> est très <mask>.")
    assert len(first) == len(second) == 5


@pytest.mark.parametrize("label", [None, "good"])
def test_attribution(model, tiny_tokenizer: Tokenizer, label: str | None) -> None:
    text = "Ce livre est très long."
    words = word_weights(model, tiny_tokenizer, LABELS, text, causal=False, label=label)
    assert "".join(word for word, _ in words) == text


def test_features(model, tiny_tokenizer: Tokenizer) -> None:
    vectors = base_features(model, tiny_tokenizer, TEXTS, causal=False)
    assert vectors.shape == (3, 48) and vectors.dtype == np.float32

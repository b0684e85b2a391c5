from __future__ import annotations

from typing import Any

import pytest
import torch

from greffe.config.sections import ModelSpec
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.errors import DataError
from greffe.evaluation.evaluate import evaluate_classifier
from greffe.inference.predict import predict
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import Model, build_model

LABELS = ["bad", "good"]


@pytest.fixture
def model(tiny_tokenizer: Tokenizer) -> Model:
    """Says "good" of texts with more pieces like "beau" than like "triste"."""
    spec = ModelSpec(width=8, layers=0, heads=1, feed_forward=8, context=16, norm="post")
    heads = {"classification": ClassificationHead(classes=2, pooler="mean")}
    model = build_model(spec, tiny_tokenizer.size, heads, seed=0)
    with torch.no_grad():
        model.base.embedding.weight.zero_()
        model.base.embedding.weight[tiny_tokenizer.encode("beau"), 0] = 5.0
        model.base.embedding.weight[tiny_tokenizer.encode("triste"), 0] = -5.0
        weight = torch.zeros(2, 8)
        weight[0, 0], weight[1, 0] = -1.0, 1.0
        model.heads["classification"].score.weight.copy_(weight)  # type: ignore[union-attr,operator]
    return model


EXAMPLES = [
    Example("beau", "good"),
    Example("triste", "bad"),
    Example("beau beau", "bad"),
    Example("triste triste triste", "bad"),
]


def test_right_and_wrong_answers_are_counted(model: Model, tiny_tokenizer: Tokenizer) -> None:
    result = evaluate_classifier(model, tiny_tokenizer, LABELS, EXAMPLES, causal=False)
    assert result.examples == 4
    assert result.accuracy == 0.75
    assert result.confusion == [[2, 1], [0, 1]]


def test_figures_are_those_of_the_predictions(model: Model, tiny_tokenizer: Tokenizer) -> None:
    texts = [example.text for example in EXAMPLES]
    probabilities = [
        prediction.probabilities[example.label]
        for prediction, example in zip(
            predict(model, tiny_tokenizer, LABELS, texts, causal=False), EXAMPLES, strict=True
        )
    ]
    result = evaluate_classifier(model, tiny_tokenizer, LABELS, EXAMPLES, causal=False)
    expected = -torch.tensor(probabilities, dtype=torch.float64).log().mean()
    assert result.log_loss == pytest.approx(float(expected))


def test_unknown_label_stops_before_any_work(
    model: Model, tiny_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("predicted before the labels were checked")

    monkeypatch.setattr("greffe.evaluation.evaluate.predict", never)
    examples = [*EXAMPLES, Example("moyen", "so-so")]
    with pytest.raises(DataError, match="did not occur in training") as caught:
        evaluate_classifier(model, tiny_tokenizer, LABELS, examples, causal=False)
    assert caught.value.found == "'so-so'"


def test_no_examples_is_an_error(model: Model, tiny_tokenizer: Tokenizer) -> None:
    with pytest.raises(DataError, match="no examples"):
        evaluate_classifier(model, tiny_tokenizer, LABELS, [], causal=False)


def test_cut_texts_are_noticed_once_in_total(
    model: Model, tiny_tokenizer: Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    long = Example("beau " * 40, "good")
    evaluate_classifier(model, tiny_tokenizer, LABELS, [*EXAMPLES, long, long], causal=False)
    assert capsys.readouterr().err == ""
    evaluate_classifier(
        model, tiny_tokenizer, LABELS, [*EXAMPLES, long, long], causal=False, long="cut"
    )
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("2 texts were longer")
    assert captured.out == ""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Any, get_args

import numpy as np
import pytest
import torch

from greffe.config.sections import Pooler
from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError, MismatchError
from greffe.inference.predict import classify_logits, predict, predict_ids
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import Model

LABELS = ["bad", "good", "so-so"]


def alone(model: Model, tokenizer: Tokenizer, ids: list[int], causal: bool) -> list[float]:
    """Probabilities of one row read by itself."""
    row = torch.tensor([[tokenizer.sos, *ids, tokenizer.eos]])
    was_training = model.training
    with torch.no_grad():
        scores = model.eval()(row, "classification", causal=causal)[0]
    model.train(was_training)
    return scores.double().softmax(0).tolist()


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("pooler", get_args(Pooler))
def test_batched_predictions_are_those_of_texts_alone_in_order(
    make_model: Any, tiny_tokenizer: Tokenizer, tiny_texts: list[str], causal: bool, pooler: Pooler
) -> None:
    head = ClassificationHead(classes=3, pooler=pooler, dropout=0.5)
    model = make_model(classification=head, context=64)
    texts = [*tiny_texts[:12], "", "ah", " ".join(tiny_texts[:2]), ""]
    found = list(predict(model, tiny_tokenizer, LABELS, texts, causal=causal, batch_tokens=80))
    assert len(found) == len(texts)
    for text, prediction in zip(texts, found, strict=True):
        expected = alone(model, tiny_tokenizer, tiny_tokenizer.encode(text), causal)
        assert list(prediction.probabilities) == LABELS
        assert list(prediction.probabilities.values()) == pytest.approx(expected, abs=1e-5)
        assert prediction.label == LABELS[int(np.argmax(expected))]
        assert prediction.score == prediction.probabilities[prediction.label]
        assert (prediction.windows, prediction.cut) == (1, 0)


def test_direction_matters(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("classification", context=64)
    both = [
        next(predict(model, tiny_tokenizer, LABELS, ["Ce livre est beau."], causal=causal))
        for causal in (True, False)
    ]
    assert both[0].score != pytest.approx(both[1].score, abs=1e-4)


def test_long_texts_average_their_windows_by_tokens(
    make_model: Any, tiny_tokenizer: Tokenizer, tiny_texts: list[str]
) -> None:
    model = make_model("classification", context=16)
    ids = tiny_tokenizer.encode(" ".join(tiny_texts[:5]))[:31]
    [prediction] = predict_ids(model, tiny_tokenizer, LABELS, [np.array(ids)], causal=False)
    windows = [ids[:11], ids[11:21], ids[21:31]]
    probabilities = [alone(model, tiny_tokenizer, window, causal=False) for window in windows]
    expected = (
        11 * np.array(probabilities[0])
        + 10 * np.array(probabilities[1])
        + 10 * np.array(probabilities[2])
    ) / 31
    assert list(prediction.probabilities.values()) == pytest.approx(expected, abs=1e-5)
    assert (prediction.windows, prediction.cut) == (3, 0)
    assert sum(prediction.probabilities.values()) == pytest.approx(1)


def test_cut_reads_the_beginning_and_counts_the_rest(
    make_model: Any, tiny_tokenizer: Tokenizer, tiny_texts: list[str]
) -> None:
    model = make_model("classification", context=16)
    text = " ".join(tiny_texts[:5])
    ids = tiny_tokenizer.encode(text)
    short, long = predict(model, tiny_tokenizer, LABELS, ["beau", text], causal=False, long="cut")
    expected = alone(model, tiny_tokenizer, ids[:14], causal=False)
    assert list(long.probabilities.values()) == pytest.approx(expected, abs=1e-5)
    assert (long.windows, long.cut) == (1, len(ids) - 14)
    assert short.cut == 0


@pytest.mark.parametrize(("size", "windows"), [(0, 1), (13, 1), (14, 1), (15, 2), (28, 2), (29, 3)])
def test_windows_begin_where_one_row_ends(
    make_model: Any, tiny_tokenizer: Tokenizer, size: int, windows: int
) -> None:
    model = make_model("classification", context=16)
    ids = np.full(size, 300, dtype=np.uint16)
    [prediction] = predict_ids(model, tiny_tokenizer, LABELS, [ids], causal=True)
    assert prediction.windows == windows


def test_one_huge_line(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("classification", context=64)
    text = "Ce livre est beau. " * 20_000
    [prediction] = predict(model, tiny_tokenizer, LABELS, [text], causal=False)
    size = len(tiny_tokenizer.encode(text))
    assert prediction.windows == -(-size // 62)
    assert sum(prediction.probabilities.values()) == pytest.approx(1)


@pytest.mark.parametrize("text", ["", " ", "\n", "\0", "日本 🙂"])
def test_odd_texts_get_finite_probabilities(
    make_model: Any, tiny_tokenizer: Tokenizer, text: str
) -> None:
    model = make_model("classification", context=64)
    [prediction] = predict(model, tiny_tokenizer, LABELS, [text], causal=False)
    assert 1 / 3 <= prediction.score <= 1


def test_no_texts_no_predictions(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("classification")
    assert list(predict(model, tiny_tokenizer, LABELS, [], causal=False)) == []
    assert predict_ids(model, tiny_tokenizer, LABELS, [], causal=False) == []
    assert classify_logits(model, [], tiny_tokenizer.pad, causal=False).shape == (0, 3)


def test_texts_are_streamed_in_blocks(
    make_model: Any, tiny_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greffe.data.tables.BLOCK_TEXTS", 4)
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        for number in count():
            taken += 1
            yield f"livre {number}"

    model = make_model("classification", context=64)
    found = list(islice(predict(model, tiny_tokenizer, LABELS, endless(), causal=False), 6))
    assert len(found) == 6
    assert taken == 8


@pytest.mark.parametrize("causal", [True, False])
def test_the_number_of_threads_changes_no_prediction(
    make_model: Any, tiny_tokenizer: Tokenizer, tiny_texts: list[str], causal: bool
) -> None:
    model = make_model("classification", context=64)
    texts = [*tiny_texts[:40], "", " ".join(tiny_texts[:8])]
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            options = {"causal": causal, "batch_tokens": 80}
            found.append(list(predict(model, tiny_tokenizer, LABELS, texts, **options)))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for one, two in zip(*found, strict=True):
        assert two.probabilities == pytest.approx(one.probabilities, abs=1e-6)
        assert (two.label, two.windows, two.cut) == (one.label, one.windows, one.cut)
    assert model.training


def test_next_to_no_padding_and_no_batch_beyond_its_size(
    make_model: Any, tiny_tokenizer: Tokenizer, watch: Any
) -> None:
    draw = np.random.default_rng(0)
    rows = [draw.integers(5, 300, size) for size in draw.integers(2, 64, 600)]
    model = make_model("classification", context=64, layers=1)
    with watch(model) as calls:
        logits = classify_logits(model, rows, tiny_tokenizer.pad, causal=False, batch_tokens=1024)
    assert logits.shape == (600, 3)
    sizes = [call["ids"].numel() for call in calls]
    assert max(sizes) <= 1024
    assert sum(sizes) < 1.04 * sum(map(len, rows))
    assert len(sizes) < 60
    assert sum(call["ids"].shape[0] for call in calls) == 600


def test_a_row_larger_than_a_batch_is_read_alone(
    make_model: Any, tiny_tokenizer: Tokenizer, watch: Any
) -> None:
    model = make_model("classification", context=64)
    rows = [np.full(40, 300), np.full(3, 300), np.full(50, 300)]
    with watch(model) as calls:
        classify_logits(model, rows, tiny_tokenizer.pad, causal=False, batch_tokens=8)
    assert [tuple(call["ids"].shape) for call in calls] == [(1, 50), (1, 40), (1, 3)]


def test_model_goes_back_to_training(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_model("classification")
    first = list(predict(model, tiny_tokenizer, LABELS, ["beau", "long"], causal=False))
    assert model.training
    assert list(predict(model, tiny_tokenizer, LABELS, ["beau", "long"], causal=False)) == first


def test_a_model_without_the_head_says_how_to_get_one(
    make_model: Any, tiny_tokenizer: Tokenizer
) -> None:
    with pytest.raises(InputError, match="cannot predict") as caught:
        predict(make_model("next_token", "masked_token"), tiny_tokenizer, LABELS, [], causal=False)
    assert caught.value.found == "heads: next_token, masked_token"
    assert "greffe finetune" in str(caught.value.hint)


def test_labels_must_be_as_many_as_classes(make_model: Any, tiny_tokenizer: Tokenizer) -> None:
    with pytest.raises(MismatchError) as caught:
        predict(make_model("classification"), tiny_tokenizer, ["no", "yes"], [], causal=False)
    assert "3 labels" in str(caught.value.expected)
    assert caught.value.found == "2: no, yes"

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from greffe.config.sections import Pooler
from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError, MismatchError
from greffe.inference.attribution import word_weights
from greffe.inference.word_spans import find_word_spans
from greffe.model.model import Model, build_model
from greffe.model.positions.none import NoPosition

LABELS = ["bad", "good"]
TEXT = "Ce livre est vraiment magnifique mais trop court."


def log_odds(
    model: Model, tokenizer: Tokenizer, ids: list[int], target: int, causal: bool
) -> float:
    was_training = model.training
    row = torch.from_numpy(tokenizer.wrap(ids))[None]
    with torch.no_grad():
        probabilities = model.eval()(row, "classification", causal=causal)[0].double().softmax(0)
    model.train(was_training)
    return math.log(float(probabilities[target])) - math.log1p(-float(probabilities[target]))


def scaled(weights: list[float]) -> list[float]:
    strongest = max(map(abs, weights))
    return [weight / strongest for weight in weights]


def values(found: list[tuple[str, float]]) -> list[float]:
    return [weight for _, weight in found]


def test_the_whole_text_comes_back_with_its_strongest_word_at_one(
    make_wide: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_wide("classification")
    found = word_weights(model, tiny_tokenizer, LABELS, TEXT, causal=False)
    assert "".join(word for word, _ in found) == TEXT
    assert [word for word, _ in found] == find_word_spans(tiny_tokenizer, TEXT).words
    assert max(map(abs, values(found))) == 1
    assert sum(abs(weight) > 1e-3 for weight in values(found)) > 5


def test_the_word_that_decides_has_the_weight(make_wide: Any, tiny_tokenizer: Tokenizer) -> None:
    """A bag of words: without layers and norms the score is the mean of the tokens' own."""
    model = make_wide(
        "classification", layers=0, norm="post", position=NoPosition(), width=2, heads=1
    )
    with torch.no_grad():
        model.base.embedding.weight.zero_()
        for piece, (bad, good) in {"▁magnifique": (0, 4), "▁trop": (3, 0), "▁est": (0, 1)}.items():
            model.base.embedding.weight[tiny_tokenizer.id_of(piece)] = torch.tensor(
                [float(bad), float(good)]
            )
        model.heads["classification"].score.weight.copy_(torch.eye(2))
        model.heads["classification"].score.bias.zero_()
    found = dict(word_weights(model, tiny_tokenizer, LABELS, TEXT, causal=False))
    expected = {"magnifique ": 1, "trop ": -0.75, "est ": 0.25}
    assert found == pytest.approx({word: expected.get(word, 0) for word in found})
    against = word_weights(model, tiny_tokenizer, LABELS, TEXT, causal=False, label="bad")
    assert dict(against) == pytest.approx({word: -weight for word, weight in found.items()})


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("target", [0, 1, 2])
@pytest.mark.parametrize("pooler", ["mean", "mean+embedding"])
def test_weights_are_those_of_a_small_change(
    make_wide: Any, tiny_tokenizer: Tokenizer, causal: bool, target: int, pooler: Pooler
) -> None:
    """The vectors of a word a little longer: what the log-odds gain is its weight."""
    model = make_wide("classification", classes=3, pooler=pooler, scale_embedding=True).double()
    labels = ["bad", "good", "so-so"]
    found = word_weights(model, tiny_tokenizer, labels, TEXT, causal=causal, label=labels[target])
    spans = find_word_spans(tiny_tokenizer, TEXT)
    gains = []
    for number in range(len(spans.words)):
        odds = []
        for factor in (1 - 1e-4, 1 + 1e-4):
            factors = torch.ones(1, len(spans.ids) + 2, 1, dtype=torch.float64)
            for token, owner in enumerate(spans.owners, 1):
                factors[0, token] = factor if owner == number else 1.0
            handle = model.base.embedding.register_forward_hook(
                lambda module, args, output, factors=factors: output * factors
            )
            odds.append(log_odds(model, tiny_tokenizer, spans.ids, target, causal))
            handle.remove()
        gains.append(odds[1] - odds[0])
    assert values(found) == pytest.approx(scaled(gains), abs=1e-4)


def test_without_a_label_it_is_the_predicted_one(
    make_wide: Any, tiny_tokenizer: Tokenizer, tiny_texts: list[str]
) -> None:
    model = make_wide("classification", classes=3)
    labels = ["bad", "good", "so-so"]
    predicted = set()
    for text in tiny_texts[:12]:
        ids = tiny_tokenizer.encode(text)
        odds = [log_odds(model, tiny_tokenizer, ids, number, False) for number in range(3)]
        label = labels[odds.index(max(odds))]
        predicted.add(label)
        found = word_weights(model, tiny_tokenizer, labels, text, causal=False)
        assert found == word_weights(model, tiny_tokenizer, labels, text, label=label, causal=False)
    assert len(predicted) > 1


def test_what_was_not_read_has_no_weight(make_wide: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_wide("classification", context=8)
    ids = tiny_tokenizer.encode(TEXT)
    assert len(ids) > 6
    found = word_weights(model, tiny_tokenizer, LABELS, TEXT, causal=False)
    assert "".join(word for word, _ in found) == TEXT
    last_read = find_word_spans(tiny_tokenizer, TEXT).owners[5]
    assert all(weight != 0 for weight in values(found)[: last_read + 1])
    assert not any(values(found)[last_read + 1 :])
    longer = word_weights(model, tiny_tokenizer, LABELS, TEXT + " hélas" * 500, causal=False)
    assert values(longer)[: last_read + 1] == values(found)[: last_read + 1]


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n\n", "beau", "  é  \t b ", "👩‍👩‍👧‍👦 本を読む", "x" * 3000, "<mask> <eos>", "\0"],
)
def test_odd_texts_come_back_exactly(make_wide: Any, tiny_tokenizer: Tokenizer, text: str) -> None:
    model = make_wide("classification")
    found = word_weights(model, tiny_tokenizer, LABELS, text, causal=True)
    assert "".join(word for word, _ in found) == text
    assert all(-1 <= weight <= 1 for weight in values(found))


def test_a_model_without_any_opinion_gives_zeros(make_wide: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_wide("classification")
    torch.nn.init.zeros_(model.heads["classification"].score.weight)
    found = word_weights(model, tiny_tokenizer, LABELS, TEXT, causal=False)
    assert values(found) == [0.0] * len(TEXT.split())


@pytest.mark.parametrize("is_training", [True, False])
def test_the_model_is_left_as_it_was(
    make_wide: Any, tiny_tokenizer: Tokenizer, is_training: bool
) -> None:
    model = make_wide("classification").train(is_training)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    first = word_weights(model, tiny_tokenizer, LABELS, TEXT, causal=False)
    assert word_weights(model, tiny_tokenizer, LABELS, TEXT, causal=False) == first
    assert all(module.training is is_training for module in model.modules())
    for name, weight in model.named_parameters():
        assert weight.grad is None
        assert weight.requires_grad
        assert torch.equal(weight, before[name])
    assert not model.base.embedding._forward_hooks


def test_gradients_of_training_are_not_touched(make_wide: Any, tiny_tokenizer: Tokenizer) -> None:
    model = make_wide("classification")
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    word_weights(model, tiny_tokenizer, LABELS, TEXT, causal=False)
    assert all(bool((weight.grad == 1).all()) for weight in model.parameters())


@pytest.mark.parametrize("quiet", [torch.inference_mode, torch.no_grad])
def test_a_caller_without_gradients_gets_the_same(
    make_wide: Any, tiny_tokenizer: Tokenizer, quiet: Any
) -> None:
    model = make_wide("classification")
    expected = word_weights(model, tiny_tokenizer, LABELS, TEXT, causal=False)
    with quiet():
        assert word_weights(model, tiny_tokenizer, LABELS, TEXT, causal=False) == expected
        assert not torch.is_grad_enabled()
        assert torch.is_inference_mode_enabled() is (quiet is torch.inference_mode)
    assert all(weight.grad is None for weight in model.parameters())


def test_a_model_made_for_reading_only_can_be_asked(
    make_wide: Any, tiny_tokenizer: Tokenizer
) -> None:
    model = make_wide("classification")
    expected = word_weights(model, tiny_tokenizer, LABELS, TEXT, causal=False)
    with torch.inference_mode():
        twin = build_model(model.spec, model.vocab, model.head_specs, seed=0)
        twin.load_state_dict(model.state_dict())
    assert word_weights(twin, tiny_tokenizer, LABELS, TEXT, causal=False) == expected


def test_an_unknown_class_is_an_error_that_names_the_known(
    make_wide: Any, tiny_tokenizer: Tokenizer
) -> None:
    with pytest.raises(InputError, match="no class 'great'") as caught:
        word_weights(
            make_wide("classification"),
            tiny_tokenizer,
            LABELS,
            TEXT,
            causal=False,
            label="great",
        )
    assert caught.value.expected == "one of bad, good"


def test_only_a_classifier_of_these_labels_can_be_asked(
    make_wide: Any, tiny_tokenizer: Tokenizer
) -> None:
    with pytest.raises(InputError, match="cannot predict"):
        word_weights(make_wide("next_token"), tiny_tokenizer, LABELS, TEXT, causal=False)
    with pytest.raises(MismatchError):
        word_weights(make_wide("classification"), tiny_tokenizer, ["one"], TEXT, causal=False)

"""Two heads on one base: shapes, first losses and answers come from the models themselves."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from greffe.api import Run, finetune, pretrain
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.sections import ModelSpec
from greffe.lab.two_heads import examine_heads, first_losses, head_shapes, two_answers
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model, build_model
from greffe.progress import quiet

SENTENCE = "Ce livre est magnifique."


@pytest.fixture
def model() -> Model:
    spec = ModelSpec(width=16, layers=1, heads=2, feed_forward=16, tied=False)
    heads = {
        "next_token": NextTokenHead(tied=False),
        "classification": ClassificationHead(classes=3, pooler="last"),
    }
    return build_model(spec, 50, heads, seed=0)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, tiny_texts: list[str]) -> tuple[Run, Run]:
    """A causal base after a few steps, and a classifier on it."""
    folder: Path = tmp_path_factory.mktemp("heads")
    (folder / "corpus.txt").write_text("\n".join(tiny_texts), encoding="utf-8")
    with quiet():
        base = pretrain(
            folder / "corpus.txt",
            folder / "base",
            recipe="tiny",
            objective="causal",
            budget="20steps",
            vocab=400,
        )
        data = [(text, "bon" if "beau" in text else "autre") for text in tiny_texts[:60]]
        tuned = finetune(base, data=data, out=folder / "tuned", budget="1epochs")
    return base, tuned


def test_shapes_are_those_of_both_tasks(model: Model) -> None:
    found = head_shapes(model, torch.arange(7)[None], "mine")
    assert found.hidden == [1, 7, 16]
    assert found.next_token_scores == [1, 7, 50]
    assert found.next_token_weight == [50, 16]
    assert found.next_token_targets == [1, 6]
    assert found.next_token_parameters == 50 * 16 + 50
    assert found.classification_scores == [1, 3]
    assert found.classification_weight == [3, 16]
    assert found.classification_targets == [1]
    assert found.classification_parameters == 3 * 16 + 3


def test_fresh_heads_lose_about_as_much_as_a_guess(model: Model) -> None:
    found = first_losses(model, torch.arange(7)[None])
    assert found.next_token_guess == math.log(50)
    assert found.classification_guess == math.log(3)
    assert found.next_token == pytest.approx(math.log(50), rel=0.05)
    assert found.classification == pytest.approx(math.log(3), rel=0.05)


def test_a_head_that_knows_the_answer_loses_less(model: Model) -> None:
    ids = torch.full((1, 7), 3)
    before = first_losses(model, ids).next_token
    with torch.no_grad():
        model.vocabulary_head("next_token").bias[3] += 10
    assert first_losses(model, ids).next_token < 0.1 < before


def test_two_answers_to_one_sentence(runs: tuple[Run, Run]) -> None:
    base, tuned = runs
    found = two_answers(base, tuned, SENTENCE)
    assert found.pieces[0] == "<sos>" and found.pieces[-1] == "<eos>"
    assert "".join(found.pieces[1:-1]).replace("▁", "") == SENTENCE.replace(" ", "")
    assert found.next_words[0].piece == "<sos>"
    assert found.next_words[-1].piece == found.pieces[-2]
    for one in found.next_words:
        shares = [share for _, share in one.expected]
        assert len(shares) == 3 and shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) <= 1
    assert [label for label, _ in found.classes] == ["autre", "bon"]
    assert sum(share for _, share in found.classes) == pytest.approx(1)


def test_the_next_words_do_not_depend_on_what_follows(runs: tuple[Run, Run]) -> None:
    base, tuned = runs
    first = two_answers(base, tuned, "Ce livre est beau.").next_words[0]
    second = two_answers(base, tuned, "Un film long et triste.").next_words[0]
    assert [share for _, share in first.expected] == pytest.approx(
        [share for _, share in second.expected], rel=1e-5
    )


def test_the_fresh_model_has_the_recipes_vocabulary(runs: tuple[Run, Run]) -> None:
    base, tuned = runs
    recipe: Recipe = load_recipe("tiny").with_vocab(1234)
    found = examine_heads(recipe, base, tuned, SENTENCE)
    assert found.shapes.vocab == 1234
    assert found.shapes.next_token_scores[-1] == 1234
    assert found.shapes.tokens == len(found.answers.pieces)
    assert found.shapes.classes == 2

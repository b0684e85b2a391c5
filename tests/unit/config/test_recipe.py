"""Recipes: what they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from greffe.config.recipe import Recipe, recipe_from_dict
from greffe.config.recipe_files import load_recipe
from greffe.config.spec import Spec
from greffe.errors import RecipeError


def test_the_lab_is_the_lab() -> None:
    lab = load_recipe("lab")
    model = lab.model
    assert (model.width, model.layers, model.heads, model.feed_forward) == (200, 4, 2, 200)
    assert (model.norm, model.position.kind, model.scale_embedding) == ("post", "sinusoidal", True)
    assert (model.dropout, model.tied, lab.tokenizer.vocab) == (0.0, False, 50_001)
    assert (lab.objective.kind, lab.classification.pooler) == ("causal", "last")


def test_a_warm_start_is_a_choice_and_recipes_older_than_it_have_none(tmp_path: Path) -> None:
    tree = load_recipe("tiny").model_dump(mode="json")
    del tree["warm_start"]
    assert recipe_from_dict(tree, "an old one").warm_start == "none"
    assert load_recipe("tiny").warm_start == load_recipe("lab").warm_start == "none"
    assert load_recipe("small").warm_start == "word_vectors"
    path = tmp_path / "mine.toml"
    path.write_text('warm_start = "word_vectors"\n[train]\nbudget = "3steps"\n', "utf-8")
    changed = load_recipe("tiny").with_changes(["warm_start=word_vectors"])
    assert changed.warm_start == load_recipe(path).warm_start == "word_vectors"


def test_only_fine_tunings_are_averaged() -> None:
    tiny = load_recipe("tiny")
    assert tiny.with_changes(["finetune.soup=3"]).finetune.soup == 3
    with pytest.raises(RecipeError) as caught:
        tiny.with_changes(["train.soup=3"])
    assert "finetune.soup" in str(caught.value)


def test_every_field_has_a_help_text() -> None:
    def check(section: type[Spec]) -> None:
        for name, field in section.model_fields.items():
            assert section.help_texts().get(name), f"{section.__name__}.{name}"
            if isinstance(field.annotation, type) and issubclass(field.annotation, Spec):
                check(field.annotation)

    check(Recipe)


def test_no_more_is_frozen_than_there_is() -> None:
    recipe = load_recipe("tiny")
    assert recipe.model.layers == 2
    assert recipe.with_changes(["train.freeze=3"]).train.freeze == 3
    for key in ("train.freeze", "finetune.freeze"):
        with pytest.raises(RecipeError, match="contradict") as caught:
            recipe.with_changes([f"{key}=4"])
        assert f"{key} = 3 or less" in str(caught.value.expected)


@pytest.mark.parametrize(
    "change",
    [
        *("train.batch=true", "model.layers=false", "train.freeze=true", "train.lr=true"),
        *('train.batch="3"', "train.batch=3.0", "model.tied=1", "classification.dropout=true"),
        *("objective.ratio=true", "train.betas=[true, 0.9]"),
    ],
)
def test_a_value_of_another_type_is_not_converted(change: str) -> None:
    with pytest.raises(RecipeError, match=change.partition("=")[0]):
        load_recipe("tiny").with_changes(["objective.kind=masked", change])


def test_an_integer_is_a_number_and_a_list_is_a_pair() -> None:
    train = load_recipe("tiny").with_changes(["train.lr=1", "train.betas=[0, 0.5]"]).train
    assert (train.lr, train.betas) == (1.0, (0.0, 0.5)) and isinstance(train.lr, float)

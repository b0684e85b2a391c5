"""Defaults that follow the size of an imported base."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from greffe.config.recipe_files import load_recipe
from greffe.interop.foreign_base import ForeignBase
from greffe.pipelines.import_base import locate, read_base
from greffe.pipelines.imported_recipe import TABLE, describe_defaults, imported_recipe


@pytest.fixture(scope="module")
def base(tiny_bert: Path) -> ForeignBase:
    return read_base(locate(tiny_bert))


def test_a_small_base_is_fine_tuned_like_a_small_one(base: ForeignBase) -> None:
    small, recipe = load_recipe("small"), imported_recipe(base, "name", 3_000_000)
    assert recipe.finetune == small.finetune
    assert recipe.classification == small.classification


def test_rates_fall_with_the_size(base: ForeignBase) -> None:
    sizes = (3e6, 22e6, 110e6, 350e6, 1.1e9)
    recipes = [imported_recipe(base, "name", int(size)) for size in sizes]
    for smaller, larger in pairwise(recipes):
        assert larger.finetune.lr < smaller.finetune.lr
        assert larger.train.lr < smaller.train.lr
    assert [rates.most for rates in TABLE] == sorted(rates.most for rates in TABLE)


def test_the_model_is_the_file_s_and_nothing_is_warm_started(base: ForeignBase) -> None:
    recipe = imported_recipe(base, "n" * 300, 110_000_000)
    assert recipe.model == base.model
    assert recipe.tokenizer.vocab == base.vocab
    assert recipe.warm_start == "none"
    assert recipe.finetune.soup == 1
    assert recipe.finetune.embedding_rate == 1
    assert len(recipe.name) == 255


def test_the_choices_are_described(base: ForeignBase) -> None:
    recipe = imported_recipe(base, "name", 110_000_000)
    said = describe_defaults(recipe, 110_000_000)
    assert "110M weights" in said
    assert f"lr {recipe.finetune.lr:g}" in said
    assert recipe.finetune.budget in said

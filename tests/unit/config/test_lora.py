"""LoRA in a recipe: its keys can be set, and what does not fit the model is refused."""

from __future__ import annotations

import pytest

from greffe.config.lora import LoraSpec
from greffe.config.recipe import Recipe, recipe_from_dict
from greffe.config.recipe_files import load_recipe
from greffe.errors import RecipeError
from greffe.parsing import parse_toml

TINY = load_recipe("tiny")


def test_it_is_off_by_default() -> None:
    assert TINY.train.lora == TINY.finetune.lora == LoraSpec(rank=0)


def test_its_keys_can_be_set_and_are_written() -> None:
    recipe = TINY.with_changes(
        ["finetune.lora.rank=8", "finetune.lora.alpha=8", 'finetune.lora.targets=["expand"]']
    )
    assert recipe.finetune.lora == LoraSpec(rank=8, alpha=8.0, targets=("expand",))
    assert recipe.finetune.lora.scale == 1.0
    assert recipe.train.lora.rank == 0
    assert recipe_from_dict(parse_toml(recipe.to_toml()), "again") == recipe


def test_a_section_can_be_set_as_a_whole() -> None:
    recipe = TINY.with_changes(["train.lora={rank = 2, dropout = 0.1}"])
    assert recipe.train.lora == LoraSpec(rank=2, dropout=0.1)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("rank=65", "train.lora.rank = 64 or less (found 65)"),
        ("rank=-1", "greater than or equal to 0"),
        ("rank=2.5", "valid integer"),
        ("alpha=0", "greater than 0"),
        ('targets=["keys"]', "'qkv', 'out', 'expand' or 'contract'"),
        ('targets="qkv"', "valid tuple"),
        ("targets=[]", "one or more different matrices"),
        ('targets=["out", "out"]', "one or more different matrices"),
        ("dropout=1.0", "less than 1"),
        ("ranks=4", "rank, alpha, targets, dropout"),
    ],
)
def test_what_cannot_be_used_is_refused(change: str, found: str) -> None:
    with pytest.raises(RecipeError) as caught:
        TINY.with_changes(["model.width=64", f"train.lora.{change}"])
    assert found in f"{caught.value.expected}"


def test_the_rank_is_that_of_the_smallest_target() -> None:
    narrow = ["model.width=64", "model.feed_forward=32"]
    assert TINY.with_changes([*narrow, "finetune.lora.rank=64"]).finetune.lora.rank == 64
    with pytest.raises(RecipeError, match="two keys contradict") as caught:
        TINY.with_changes(
            [*narrow, "finetune.lora.rank=64", 'finetune.lora.targets=["out", "contract"]']
        )
    assert "finetune.lora.rank = 32 or less (found 64)" in str(caught.value.expected)


def test_a_model_without_blocks_has_nothing_to_adapt() -> None:
    with pytest.raises(RecipeError) as caught:
        Recipe().with_changes(["model.layers=0", "train.lora.rank=4"])
    assert "the model has no blocks" in str(caught.value.expected)

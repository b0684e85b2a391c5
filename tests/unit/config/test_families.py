"""Families by name: `model.family` in a recipe, and what --set model.family=NAME brings along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from greffe.config.families import SIZES, family_choices, known_families
from greffe.config.recipe import recipe_from_dict
from greffe.config.recipe_files import builtin_recipes, load_recipe
from greffe.config.sections import ModelSpec
from greffe.errors import RecipeError
from greffe.interop.huggingface import families
from greffe.interop.huggingface.family import Family
from greffe.model.positions.learned import Learned
from greffe.model.positions.rotary import Rotary

assert families
FOREIGN = known_families()[1:]


def test_the_names_are_those_of_the_registered_families() -> None:
    assert known_families() == ("greffe", *sorted(Family.registry))
    assert {"bert", "gpt2", "llama", "modernbert"} <= set(FOREIGN) <= set(builtin_recipes())


@pytest.mark.parametrize("name", FOREIGN)
def test_a_family_brings_its_choices_and_leaves_the_sizes(name: str) -> None:
    before = load_recipe("tiny")
    changed = before.with_changes([f"model.family={name}"])
    expected = load_recipe(name).model
    for field in ModelSpec.model_fields:
        source = before.model if field in SIZES else expected
        assert getattr(changed.model, field) == getattr(source, field), field
    assert changed.train == before.train
    assert changed.with_changes(["model.family=greffe"]) == before


def test_other_changes_come_after_those_of_the_family() -> None:
    changes = ["model.norm_epsilon=0.01", "model.position.base=500", "model.width=96"]
    model = load_recipe("gpt2").with_changes([*changes, "model.family=llama"]).model
    assert (model.norm_kind, model.norm_epsilon, model.width) == ("rms", 0.01, 96)
    assert model.position == Rotary(base=500)
    assert load_recipe("gpt2").model.position == Learned()


def test_a_folder_of_the_same_name_is_no_family(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "llama").mkdir()
    monkeypatch.chdir(tmp_path)
    assert family_choices("llama")["gated"] is True


@pytest.mark.parametrize("name", ["lama", "LLAMA", "[1]", "3", "''", "{a=1}", "small"])
def test_an_unknown_family_lists_the_known_ones(name: str) -> None:
    with pytest.raises(RecipeError, match=r"model\.family") as caught:
        load_recipe("tiny").with_changes([f"model.family={name}"])
    if name == "lama":
        assert caught.value.expected == f"one of {', '.join(known_families())}"
        assert caught.value.hint == "did you mean 'llama'?"


def test_so_does_a_recipe_file() -> None:
    with pytest.raises(RecipeError, match=r"mine\.toml: unknown model\.family") as caught:
        recipe_from_dict({"model": {"family": "t5"}}, "mine.toml")
    assert "modernbert" in str(caught.value.expected)


def test_names_are_known_without_torch() -> None:
    code = """
import sys
from greffe.config.families import known_families
assert "llama" in known_families()
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)

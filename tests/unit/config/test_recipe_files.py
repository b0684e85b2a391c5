"""Recipe files: those that ship, and files that cannot be used."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from greffe.config.recipe import Recipe, recipe_from_dict
from greffe.config.recipe_files import builtin_recipes, load_recipe
from greffe.errors import RecipeError


def test_the_documented_recipes_ship() -> None:
    shipped = {"greffe-fr", "intermediate", "lab", "small", "target", "tiny"}
    shipped |= {"bert", "roberta", "distilbert", "electra"}
    assert shipped <= set(builtin_recipes())


@pytest.mark.parametrize("name", builtin_recipes())
def test_a_shipped_recipe_loads_by_every_name_and_survives_toml(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(name)
    assert recipe.name == name
    assert load_recipe(f"{name}.toml") == load_recipe(f"recipes/{name}.toml") == recipe
    assert recipe_from_dict(tomllib.loads(recipe.to_toml()), "round trip") == recipe
    (tmp_path / "other.toml").write_text(recipe.to_toml(), "utf-8")
    assert load_recipe(tmp_path / "other.toml") == recipe


def test_a_shipped_recipe_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_recipe("recipes/lab.toml").model.width == 200


def test_an_empty_file_is_a_recipe_of_defaults_named_after_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.touch()
    assert load_recipe(path) == Recipe(name="mine")


def test_an_unknown_name_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe("smal")
    assert all(name in str(caught.value.expected) for name in builtin_recipes())
    assert caught.value.hint == "did you mean 'small'?"


def test_a_missing_file_is_not_taken_for_a_shipped_recipe(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="There is no recipe"):
        load_recipe(tmp_path / "tiny.toml")


def test_bad_toml_says_where(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[model]\nwidth = = 3\n", "utf-8")
    with pytest.raises(RecipeError, match=r"bad\.toml is not valid TOML") as caught:
        load_recipe(path)
    assert "line 2" in str(caught.value.found)


def test_a_file_that_is_not_utf8_says_so(tmp_path: Path) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes('name = "été"\n'.encode("latin-1"))
    with pytest.raises(RecipeError, match="not UTF-8"):
        load_recipe(path)


def test_the_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "wide.toml"
    path.write_text("[model]\nwidth = 0\n", "utf-8")
    with pytest.raises(RecipeError, match=r"wide\.toml: model\.width cannot be used"):
        load_recipe(path)


def test_a_byte_order_mark_is_no_part_of_the_recipe(tmp_path: Path) -> None:
    path = tmp_path / "marked.toml"
    path.write_bytes(b"\xef\xbb\xbf" + b"seed = 3\n")
    assert load_recipe(path).seed == 3


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("seed = 1".encode("utf-16"), id="UTF-16"),
        pytest.param(b"#" * 200_000, id="too large"),
        pytest.param(b"a = " + b"[" * 50_000, id="deep"),
        pytest.param(b".".join([b"a"] * 40_000) + b" = 1", id="key of many parts"),
        pytest.param(b"seed = " + b"9" * 5000, id="thousands of digits"),
        pytest.param(b"seed = nan", id="NaN"),
        pytest.param(b"\x00\x01\x02", id="binary"),
    ],
)
def test_a_file_that_is_no_recipe_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.toml"
    path.write_bytes(content)
    with pytest.raises(RecipeError, match=r"odd\.toml"):
        load_recipe(path)


def test_a_pipe_or_a_folder_is_no_recipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path, tmp_path / "pipe.toml"):
        with pytest.raises(RecipeError, match="is not a file"):
            load_recipe(path)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "\udcff"], ids=["NUL", "long", "surrogate"])
def test_a_name_that_no_file_can_have_is_no_recipe(name: str) -> None:
    with pytest.raises(RecipeError, match="There is no recipe") as caught:
        load_recipe(name)
    assert len(str(caught.value)) < 1000

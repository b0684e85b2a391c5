"""Recipes: those that ship, the round trip through TOML, and every way to get one wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from greffe.config.recipe import Recipe, recipe_from_dict
from greffe.config.recipe_files import builtin_recipes, load_recipe
from greffe.config.sections import TokenizerSpec
from greffe.config.spans import Span
from greffe.errors import RecipeError
from greffe.model.positions.learned import Learned
from greffe.model.positions.rotary import Rotary
from greffe.objectives.hybrid import Hybrid


def refused(*changes: str) -> RecipeError:
    """The error that `--set` with these changes ends in."""
    with pytest.raises(RecipeError) as caught:
        load_recipe("tiny").with_changes(changes)
    return caught.value


# --- those that ship ----------------------------------------------------------------------------


def test_the_shipped_recipes_are_these() -> None:
    assert builtin_recipes() == ["greffe-fr", "intermediate", "lab", "small", "target", "tiny"]


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


def test_a_recipe_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load_recipe("tiny").seed = 3  # type: ignore[misc]


def test_an_empty_file_is_a_recipe_of_defaults_named_after_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.touch()
    assert load_recipe(path) == Recipe(name="mine")


# --- files that cannot be used ------------------------------------------------------------------


def test_an_unknown_name_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe("smal")
    assert "lab, small, target, tiny" in str(caught.value.expected)
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


# --- keys and values that cannot be used ----------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "key", "meant"),
    [
        ("trian.lr=1", "trian", "train"),
        ("train.zzz=1", "train.zzz", None),
        ("model.width_=64", "model.width_", "model.width"),
        ("objective.rato=0.2", "objective.rato", "objective.ratio"),
        ("model.position.bass=3", "model.position.bass", "model.position.base"),
        ("classification.poller='max'", "classification.poller", "classification.pooler"),
    ],
)
def test_an_unknown_key_is_named_as_written_and_corrected(
    change: str, key: str, meant: str | None
) -> None:
    error = refused(change)
    assert f"unknown key {key!r}" in error.message
    assert error.hint == (f"did you mean {meant!r}?" if meant else None)


def test_an_unknown_key_lists_its_neighbours_only() -> None:
    expected = str(refused("objective.rato=0.2").expected)
    assert "ratio, mask, random, whole_word" in expected
    assert "width" not in expected


def test_a_key_of_another_kind_is_unknown() -> None:
    error = refused("objective.kind='causal'", "objective.ratio=0.2")
    assert "unknown key 'objective.ratio'" in error.message


@pytest.mark.parametrize(
    ("change", "key", "found"),
    [
        ("objective.ratio=1.5", "objective.ratio", "1.5"),
        ("train.lr=0", "train.lr", "0"),
        ("train.lr=nan", "train.lr", "nan"),
        ("train.lr=fast", "train.lr", "'fast'"),
        ("seed=-1", "seed", "-1"),
        ("warm_start=glove", "warm_start", "'glove'"),
        ("tokenizer.vocab=0", "tokenizer.vocab", "0"),
        ("model.norm='both'", "model.norm", "'both'"),
        ("model.position.base=0.5", "model.position.base", "0.5"),
        ("train.freeze='everything'", "train.freeze", "'everything'"),
        ("train.betas=[0.9, 'x']", "train.betas", "'x'"),
        ("model=3", "model", "3"),
    ],
)
def test_a_value_out_of_range_names_key_and_value(change: str, key: str, found: str) -> None:
    error = refused(change)
    assert error.message == f"recipe: {key} cannot be used."
    assert error.found == found
    assert error.expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["model.heads=5"], "width 48 is not divisible by heads 5"),
        (["model.width=60", "model.heads=4"], "even width per head, found 15"),
        (["objective.mask=0.95"], "mask 0.95 + random 0.1 is more than 1"),
        (["train.accumulation=3"], "batch 16 is not divisible by accumulation 3"),
    ],
)
def test_choices_that_contradict_are_named(changes: list[str], message: str) -> None:
    assert message in str(refused(*changes).expected)


def test_an_odd_width_a_head_is_fine_without_rotation() -> None:
    changes = ["model.width=60", "model.heads=4", "model.position.kind=learned"]
    assert load_recipe("tiny").with_changes(changes).model.width == 60


def test_an_unknown_kind_lists_the_known_ones() -> None:
    error = refused("objective.kind=maskd")
    assert "objective.kind" in error.message
    assert "masked" in str(error.expected)
    assert error.found == "'maskd'"
    assert error.hint == "did you mean 'masked'?"


def test_the_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "wide.toml"
    path.write_text("[model]\nwidth = 0\n", "utf-8")
    with pytest.raises(RecipeError, match=r"wide\.toml: model\.width cannot be used"):
        load_recipe(path)


# --- --set --------------------------------------------------------------------------------------


def test_set_reads_toml_values_and_plain_words() -> None:
    changed = load_recipe("tiny").with_changes(
        [
            "train.lr=3e-4",
            "train.budget=3epochs",
            "train.schedule = 'linear'",
            "train.betas=[0.8, 0.9]",
            "train.compile=true",
            "train.freeze=base",
            'name="a=b"',
        ]
    )
    assert changed.train.lr == 3e-4
    assert (changed.train.budget, changed.train.schedule) == ("3epochs", "linear")
    assert changed.train.betas == (0.8, 0.9)
    assert (changed.train.compile, changed.train.freeze) == (True, "base")
    assert changed.name == "a=b"


def test_set_leaves_everything_else_and_the_original_alone() -> None:
    recipe = load_recipe("tiny")
    changed = recipe.with_changes(["train.lr=0.5"])
    assert changed.train.lr == 0.5 != recipe.train.lr
    assert changed.with_changes([f"train.lr={recipe.train.lr}"]) == recipe


def test_set_of_a_kind_keeps_what_both_kinds_know() -> None:
    recipe = load_recipe("tiny").with_changes(["objective.ratio=0.3", "model.position.base=500"])
    assert recipe.model.position == Rotary(base=500)
    changed = recipe.with_changes(["objective.kind=hybrid", "model.position.kind=learned"])
    assert changed.objective == Hybrid(ratio=0.3)
    assert changed.model.position == Learned()
    # In whatever order they come, and for sections that have a kind but one set of keys too.
    mixed = recipe.with_changes(["objective.causal_fraction=0.25", "objective.kind=hybrid"])
    assert mixed.objective == Hybrid(ratio=0.3, causal_fraction=0.25)
    sized = recipe.with_changes(["tokenizer.vocab=8000", "tokenizer.kind=unigram"])
    assert sized.tokenizer == TokenizerSpec(kind="unigram", vocab=8000)


def test_set_of_the_same_kind_keeps_its_choices() -> None:
    recipe = load_recipe("tiny").with_changes(["objective.ratio=0.3"])
    assert recipe.with_changes(["objective.kind=masked"]) == recipe


def test_set_takes_a_whole_component() -> None:
    changed = load_recipe("tiny").with_changes(["objective={kind='hybrid', causal_fraction=0.25}"])
    assert changed.objective == Hybrid(causal_fraction=0.25)


@pytest.mark.parametrize("change", ["train.lr", "=3", " =3", ""])
def test_set_without_key_or_value_cannot_be_read(change: str) -> None:
    assert "cannot be read" in refused(change).message


# --- spans --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "unit", "amount"),
    [
        ("20m", "seconds", 1200),
        ("1h30m", "seconds", 5400),
        ("90s", "seconds", 90),
        ("0.5h", "seconds", 1800),
        ("2000steps", "steps", 2000),
        ("2 ksteps", "steps", 2000),
        ("1step", "steps", 1),
        ("3epochs", "epochs", 3),
        ("0.5epochs", "epochs", 0.5),
        ("50Mtokens", "tokens", 50e6),
        ("1Gtokens", "tokens", 1e9),
        ("5%", "percent", 5),
        ("100%", "percent", 100),
    ],
)
def test_a_span_is_read(text: str, unit: str, amount: float) -> None:
    span = Span.parse(text)
    assert (span.unit, span.amount) == (unit, pytest.approx(amount))


@pytest.mark.parametrize(
    "text", ["", " ", "0steps", "0m", "-5m", "20", "m", "soon", "20minutes", "101%", "1m1h", "3m%"]
)
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="is not an amount of training") as caught:
        Span.parse(text)
    assert caught.value.found == repr(text)


@pytest.mark.parametrize("key", ["budget", "evaluate_every", "checkpoint_every"])
@pytest.mark.parametrize("section", ["train", "finetune"])
def test_spans_of_a_recipe_are_read_at_once(section: str, key: str) -> None:
    assert "not an amount of training" in refused(f"{section}.{key}=soon").message


def test_a_budget_is_no_percentage_but_evaluation_may_be() -> None:
    assert "cannot be a percentage" in refused("train.budget=5%").message
    assert load_recipe("tiny").with_changes(["train.evaluate_every=5%"])

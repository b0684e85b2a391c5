"""Intermediate-task fine-tuning: which auxiliary texts are used, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.pipelines.tracking.tracking_helpers import expected_scalars, tensorboard_scalars

from greffe.config.option_groups import flat_keywords
from greffe.config.recipe_files import load_recipe
from greffe.data.tables import Example
from greffe.errors import DataError, MismatchError, RecipeError
from greffe.model.weights import head_hash
from greffe.pipelines import finetune as finetune_module
from greffe.pipelines import intermediate as intermediate_module
from greffe.pipelines.intermediate import MOST_TO_ONE, Intermediate, mix
from greffe.pipelines.labelled import data_hash
from greffe.pipelines.provenance import trained_on
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.training.checkpoint import load_model

finetune = flat_keywords(finetune_module.finetune)
finetune_intermediate = flat_keywords(intermediate_module.finetune_intermediate)


def table(**counts: int) -> list[Example]:
    return [Example(f"{label} {n}", label) for label, count in counts.items() for n in range(count)]


def reviews(count: int, seed: int) -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(count, seed=seed)]


def test_classes_of_a_table_are_balanced() -> None:
    found = Counter(example.label for example in mix([table(good=100, bad=10)], seed=0))
    assert found == {"good": 25, "bad": 10}
    three = Counter(example.label for example in mix([table(a=100, b=10, c=30)], seed=0))
    assert three == {"a": 50, "b": 10, "c": 30}


def test_each_table_is_balanced_on_its_own() -> None:
    praising, complaining = table(good=50, bad=10), table(good=10, bad=50)
    assert len(mix([praising, complaining], seed=0)) == 2 * 35
    assert len(mix([[*praising, *complaining]], seed=0)) == 120


def test_all_texts_of_a_table_with_one_class_are_used() -> None:
    assert mix([table(good=7), table(bad=3)], seed=0) == [*table(good=7), *table(bad=3)]


def test_the_choice_of_texts_depends_on_the_seed_only() -> None:
    tables = [table(good=200, bad=10)]
    first, again, other = (mix(tables, seed) for seed in (1, 1, 2))
    assert first == again and first != other
    assert first == sorted(first, key=tables[0].index)


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=4), max_size=3), st.integers(0, 9)
)
def test_mixed_texts_are_a_part_of_the_tables_up_to_the_limit(
    counts: list[list[int]], seed: int
) -> None:
    tables = [
        table(**{f"c{label}": count for label, count in enumerate(row)})
        for row in counts
        if any(row)
    ]
    taken = Counter(mix(tables, seed))
    assert not taken - Counter(example for one in tables for example in one)
    for one in tables:
        found = Counter(example.label for example in one)
        kept = Counter(example.label for example in mix([one], seed))
        assert kept.keys() == found.keys()
        for label, count in found.items():
            rest = len(one) - count
            room = MOST_TO_ONE * rest / (len(found) - 1) if rest else count
            assert min(count, room) <= kept[label] < room + 1 or kept[label] == count


TrainIntermediate = Callable[..., Intermediate]


@pytest.fixture
def train_intermediate(fresh_run: Callable[..., RunDirectory], tmp_path: Path) -> TrainIntermediate:
    """Fine-tune a fresh base on ninety auxiliary reviews, for a target of twelve."""
    parent = fresh_run("parent")

    def run(aux_data: Sequence[list[Example]] = (), **choices: Any) -> Intermediate:
        wanted = {"parent": parent, "data": reviews(12, 1), "valid": reviews(6, 9), **choices}
        return finetune_intermediate(
            aux_data=aux_data or [reviews(90, 2)], **{"out": tmp_path / "out", **wanted}
        )

    return run


def test_the_auxiliary_data_is_recorded(train_intermediate: TrainIntermediate) -> None:
    intermediate = train_intermediate([reviews(60, 2), reviews(40, 3)]).run
    manifest = intermediate.manifest()
    assert (manifest.kind, manifest.status) == ("classifier", "finished")
    tables = {"auxiliary 1": data_hash(reviews(60, 2)), "auxiliary 2": data_hash(reviews(40, 3))}
    assert manifest.lineage.data.items() >= tables.items()
    assert trained_on(intermediate, [data_hash(reviews(40, 3))])
    assert manifest.calibration is None  # its probabilities are not the result


def test_a_run_that_starts_from_it_has_seen_the_same_data(
    train_intermediate: TrainIntermediate, tmp_path: Path
) -> None:
    intermediate = train_intermediate().run
    run = finetune(reviews(12, 1), tmp_path / "b", parent=intermediate, valid=reviews(6, 9))
    assert trained_on(run, [data_hash(reviews(90, 2))])
    earlier = {f"earlier {name}": one for name, one in intermediate.manifest().lineage.data.items()}
    assert run.manifest().lineage.data.items() >= earlier.items()
    assert not trained_on(run, [earlier["earlier valid"]])


def test_copies_of_target_texts_are_left_out(
    train_intermediate: TrainIntermediate, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*reviews(12, 1)[:5], *reviews(90, 2)]
    intermediate = train_intermediate([given]).run
    assert "5 texts are in your data too" in capsys.readouterr().err
    assert trained_on(intermediate, [data_hash(given)])
    without = train_intermediate(overwrite=True).run
    assert intermediate.manifest().lineage.data["train"] == without.manifest().lineage.data["train"]


def test_the_last_weights_are_kept(
    train_intermediate: TrainIntermediate,
) -> None:
    intermediate = train_intermediate().run
    recipe, result = intermediate.recipe(), intermediate.manifest().result
    assert recipe.train.keep == "last" and result["steps"] == recipe.train.least_steps == 50
    assert recipe.finetune == load_recipe("target").finetune


@pytest.mark.parametrize(
    ("changes", "key", "value"),
    [
        (["classification.dropout=0.3"], "dropout", 0.3),
        (["classification.lowercase=true"], "lowercase", True),
    ],
)
def test_the_head_has_the_shape_that_the_target_needs(
    train_intermediate: TrainIntermediate,
    tmp_path: Path,
    changes: list[str],
    key: str,
    value: object,
) -> None:
    intermediate = train_intermediate(changes=[*changes, "finetune.threads=1"])
    recipe = intermediate.run.recipe()
    assert getattr(recipe.objective, key) == value and recipe.train.threads == 1
    run = finetune(
        intermediate.target.train,
        tmp_path / "out",
        parent=intermediate.run,
        valid=intermediate.target.valid,
        changes=changes,
        budget="1epochs",
        resume=True,
    )
    assert run.manifest().heads == intermediate.run.manifest().heads
    taken = load_model(intermediate.run)
    assert run.manifest().lineage.initial_head == head_hash(taken)


def test_an_interrupted_stage_is_resumed(
    train_intermediate: TrainIntermediate,
    interrupted: Callable[[], AbstractContextManager[None]],
    tmp_path: Path,
) -> None:
    with interrupted():
        train_intermediate(track="tensorboard")
    stopped = RunDirectory(tmp_path / "out" / "intermediate").manifest()
    assert stopped.status == "training"
    run = train_intermediate(track="tensorboard", resume=True).run
    assert tensorboard_scalars(run) == expected_scalars(run)
    resumed = run.manifest()
    whole = train_intermediate(overwrite=True).run
    assert resumed.weights == whole.manifest().weights is not None
    assert not (whole.path / "tensorboard").exists()


def test_it_resumes_with_the_same_tables_base_and_seed(
    train_intermediate: TrainIntermediate, fresh_run: Callable[..., RunDirectory]
) -> None:
    before = train_intermediate().run.manifest()
    with pytest.raises(MismatchError, match="other data"):
        train_intermediate([reviews(90, 7)], resume=True)
    with pytest.raises(MismatchError, match="another base"):
        train_intermediate(parent=None, like=fresh_run("shape"), resume=True)
    for seeded in ({"seed": 3}, {"changes": ["seed=3"]}):
        with pytest.raises(RecipeError, match="seed was 0, now 3"):
            train_intermediate(**seeded, resume=True)
    with pytest.raises(MismatchError, match="other data"):  # auxiliary texts, held out now
        train_intermediate(valid=reviews(90, 2)[:6], resume=True)
    assert train_intermediate(resume=True).run.manifest() == before


def test_a_folder_resumes_with_or_without_auxiliary_data_as_it_started(
    train_intermediate: TrainIntermediate, fresh_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    intermediate = train_intermediate()
    with pytest.raises(MismatchError, match="started with --aux-data"):
        finetune(
            intermediate.target.train, tmp_path / "out", parent=fresh_run("other"), resume=True
        )
    plain = finetune(
        intermediate.target.train,
        tmp_path / "plain",
        parent=intermediate.run,
        valid=intermediate.target.valid,
        budget="1epochs",
    )
    before = plain.manifest()
    with pytest.raises(MismatchError, match="started without --aux-data"):
        train_intermediate(out=tmp_path / "plain", resume=True)
    assert plain.manifest() == before and not (tmp_path / "plain" / "intermediate").exists()


MISTAKES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"changes": ["train.lrr=1"]}, RecipeError, "lrr"),
    ({"changes": ["objective.kind=masked", "train.soup=1"]}, RecipeError, "cannot be 'masked'"),
    ({"budget": "3lightyears"}, RecipeError, "3lightyears"),
    ({"recipe": "nosuch"}, RecipeError, "nosuch"),
    ({"valid": [Example("bof", "neutre")]}, DataError, "neutre"),
    ({"aux_data": [table(positif=9)]}, DataError, "lacks a class"),
    ({"aux_data": [table(positif=1, négatif=1)]}, DataError, "too little"),
    ({"parent": None}, RecipeError, "architecture is known"),
    ({"changes": ["model.layers=2"]}, MismatchError, "another architecture"),
]


def test_a_mistake_removes_no_run(train_intermediate: TrainIntermediate, tmp_path: Path) -> None:
    for wrong, error, message in MISTAKES:
        with pytest.raises(error, match=message):
            train_intermediate(**wrong)
        assert not (tmp_path / "out").exists()
    before = train_intermediate().run.manifest()
    for wrong, error, message in MISTAKES:
        with pytest.raises(error, match=message):
            train_intermediate(**wrong, overwrite=True)
        assert RunDirectory(tmp_path / "out" / "intermediate").manifest() == before

"""What a study will do: arms, cells and comparisons."""

from __future__ import annotations

from typing import get_args

import pytest

from greffe.data.tables import Example
from greffe.errors import RecipeError
from greffe.run import RunDirectory
from greffe.study.document import ArmKind
from greffe.study.parts import Parts
from greffe.study.plan import Cell, plan_arms, plan_cells, planned_comparisons

BASE, OTHER = RunDirectory("runs/base"), RunDirectory("runs/other")


def parts_of(train: int, valid: int) -> Parts:
    pool = [Example(f"texte {n}", "ab"[n % 2]) for n in range(train + valid)]
    return Parts(pool[:train], pool[train:], pool[:2], ["a", "b"], [False, False], {})


def names(cells: list[Cell]) -> list[str]:
    return [cell.name for cell in cells]


def test_the_usual_arms() -> None:
    arms = plan_arms(BASE, {}, frozen=False)
    assert [(arm.name, arm.kind) for arm in arms] == [
        ("pretrained", "pretrained"),
        ("scratch", "scratch"),
        ("majority", "majority"),
        ("tfidf", "tfidf"),
        ("stacked", "stacked"),
        ("ensemble", "ensemble"),
    ]
    assert [arm.run for arm in arms] == [BASE, BASE, None, None, BASE, BASE]


def test_further_runs_and_frozen_ones() -> None:
    arms = plan_arms(BASE, {"causal": OTHER}, frozen=True)
    kinds = {arm.name: (arm.kind, arm.run) for arm in arms}
    assert kinds["causal"] == ("pretrained", OTHER)
    assert kinds["frozen"] == ("frozen", BASE)
    assert kinds["causal-frozen"] == ("frozen", OTHER)


def test_teachers_make_one_more_arm() -> None:
    without = plan_arms(BASE, {}, frozen=False)
    arms = plan_arms(BASE, {}, frozen=False, feature_runs=[OTHER, BASE])
    assert arms[:-1] == without
    stacked_runs = arms[-1]
    assert (stacked_runs.name, stacked_runs.kind, stacked_runs.run) == (
        "stacked+runs",
        "stacked+runs",
        BASE,
    )
    assert stacked_runs.feature_runs == (OTHER, BASE) and stacked_runs.is_linear
    assert not any(arm.feature_runs for arm in without)


def test_companions_make_one_more_arm_that_is_held_against_tfidf() -> None:
    without = plan_arms(BASE, {}, frozen=False)
    arms = plan_arms(BASE, {}, frozen=False, auxiliary=900)
    assert arms[:-1] == without
    auxiliary_tables = arms[-1]
    assert (auxiliary_tables.name, auxiliary_tables.kind, auxiliary_tables.run) == (
        "tfidf+aux",
        "tfidf+aux",
        None,
    )
    assert auxiliary_tables.auxiliary == 900 and auxiliary_tables.is_linear
    pairs = planned_comparisons(arms)
    assert pairs == [
        *planned_comparisons(without),
        ("tfidf+aux", "tfidf"),
        ("tfidf+aux", "pretrained"),
    ]
    many, few = (
        Cell(plan_arms(BASE, {}, frozen=False, auxiliary=count)[-1], 80, 1, is_full=True)
        for count in (50_000, 1)
    )
    assert many.weight > few.weight


@pytest.mark.parametrize("name", [*get_args(ArmKind), "a/b", "", "mine-frozen", "a b"])
def test_names_that_an_arm_cannot_have(name: str) -> None:
    with pytest.raises(RecipeError, match="cannot be called"):
        plan_arms(BASE, {name: OTHER}, frozen=False)


def test_all_labels_come_first_and_a_linear_model_needs_one_seed_there() -> None:
    *arms, ensembled = plan_arms(BASE, {}, frozen=False)
    cells = plan_cells([*arms, ensembled], [20], [1, 2], parts_of(80, 20))
    assert names(cells) == [
        "pretrained-all-1",
        "scratch-all-1",
        "majority-all-1",
        "tfidf-all-1",
        "stacked-all-1",
        "pretrained-all-2",
        "scratch-all-2",
        *(f"{arm.name}-20-1" for arm in arms),
        *(f"{arm.name}-20-2" for arm in arms),
    ]
    assert [cell.is_full for cell in cells] == [cell.labels == 80 for cell in cells]


def test_asking_for_all_labels_by_number_adds_nothing() -> None:
    arms = plan_arms(BASE, {}, frozen=False)
    assert plan_cells(arms, [80], [1], parts_of(80, 20)) == plan_cells(
        arms, [], [1], parts_of(80, 20)
    )


def test_the_question_is_the_first_comparison() -> None:
    pairs = planned_comparisons(plan_arms(BASE, {"causal": OTHER}, frozen=True))
    assert pairs[0] == ("pretrained", "scratch")
    assert ("causal", "pretrained") in pairs
    assert ("frozen", "pretrained") in pairs
    assert pairs[-3:] == [("stacked", "tfidf"), ("stacked", "pretrained"), ("ensemble", "tfidf")]
    assert len(set(pairs)) == len(pairs)


def test_an_advised_arm_is_held_against_what_knows_no_teachers() -> None:
    without = planned_comparisons(plan_arms(BASE, {}, frozen=False))
    pairs = planned_comparisons(plan_arms(BASE, {}, frozen=False, feature_runs=[OTHER]))
    assert pairs == [*without, ("stacked+runs", "tfidf"), ("stacked+runs", "stacked")]

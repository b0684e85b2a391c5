"""The request for a study, and its arms, cells and comparisons."""

from __future__ import annotations

import pytest

from greffe.config.options import Tables
from greffe.data.tables import Example
from greffe.errors import RecipeError
from greffe.run import RunDirectory
from greffe.study.arms import ARMS, ArmOptions, Cell, PlannedArm
from greffe.study.parts import Parts
from greffe.study.plan import (
    StudyRequest,
    detailed_arms,
    plan_arms,
    plan_cells,
    planned_comparisons,
    presented_bases,
)

BASE, OTHER = RunDirectory("runs/base"), RunDirectory("runs/other")
KINDS = (
    *("pretrained", "scratch", "frozen", "majority", "tfidf", "stacked", "ensemble"),
    *("stacked+runs", "tfidf+aux"),
)


def request(**options: object) -> StudyRequest:
    return StudyRequest(arms=ArmOptions(base=BASE), **{"tables": Tables(data="a.tsv"), **options})  # type: ignore[arg-type]


def parts_of(train: int, valid: int) -> Parts:
    pool = [Example(f"texte {n}", "ab"[n % 2]) for n in range(train + valid)]
    return Parts(pool[:train], pool[train:], pool[:2], ["a", "b"], [False, False], {})


def planned(**options: object) -> list[PlannedArm]:
    """Return the planned arms of these kinds; a kind that is added later changes nothing here."""
    arms = plan_arms(ArmOptions(base=BASE, **options))  # type: ignore[arg-type]
    return [arm for arm in arms if arm.kind in KINDS]


def names(cells: list[Cell]) -> list[str]:
    return [cell.name for cell in cells]


def test_seeds_are_counted_from_one_or_named() -> None:
    assert request(seeds=3).seed_numbers == [1, 2, 3]
    assert request(seeds=[0, 7]).seed_numbers == [0, 7]


@pytest.mark.parametrize("seeds", [0, [], [1, 1], [-1]])
def test_seeds_that_cannot_be_used(seeds: object) -> None:
    with pytest.raises(RecipeError, match="seeds"):
        assert request(seeds=seeds).seed_numbers


def test_only_files_are_paths() -> None:
    tables = Tables(data="a.tsv", valid=[Example("x", "y")], aux_data=["b.tsv"])
    assert request(tables=tables, corpus=["c.txt"]).paths == ["a.tsv", "b.tsv", "c.txt"]


def test_the_usual_arms() -> None:
    arms = planned()
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
    arms = planned(others={"causal": OTHER}, frozen=True)
    assert [arm.name for arm in arms][:5] == [
        *("pretrained", "scratch", "causal", "frozen", "causal-frozen"),
    ]
    kinds = {arm.name: (arm.kind, arm.run) for arm in arms}
    assert kinds["causal"] == ("pretrained", OTHER)
    assert kinds["frozen"] == ("frozen", BASE)
    assert kinds["causal-frozen"] == ("frozen", OTHER)


def test_feature_runs_make_one_more_arm() -> None:
    without = planned()
    arms = planned(feature_runs=[OTHER, BASE])
    assert arms[:-1] == without
    stacked_runs = arms[-1]
    assert (stacked_runs.name, stacked_runs.kind, stacked_runs.run) == (
        "stacked+runs",
        "stacked+runs",
        BASE,
    )
    assert stacked_runs.feature_runs == (OTHER, BASE) and stacked_runs.is_deterministic
    assert not any(arm.feature_runs for arm in without)


def test_auxiliary_texts_make_one_more_arm_that_is_compared_with_tfidf() -> None:
    without = planned()
    arms = planned(auxiliary_texts=900)
    assert arms[:-1] == without
    with_auxiliary = arms[-1]
    assert (with_auxiliary.name, with_auxiliary.kind, with_auxiliary.run) == (
        "tfidf+aux",
        "tfidf+aux",
        None,
    )
    assert with_auxiliary.is_deterministic
    pairs = planned_comparisons(arms)
    assert pairs == [
        *planned_comparisons(without),
        ("tfidf+aux", "tfidf"),
        ("tfidf+aux", "pretrained"),
    ]
    many, few = (
        Cell(planned(auxiliary_texts=count)[-1], 80, 1, is_full=True) for count in (50_000, 1)
    )
    assert many.weight > few.weight


@pytest.mark.parametrize("name", [*ARMS, "a/b", "", "mine-frozen", "a b"])
def test_names_that_an_arm_cannot_have(name: str) -> None:
    with pytest.raises(RecipeError, match="not a valid name"):
        planned(others={name: OTHER})


def test_all_labels_come_first_and_a_deterministic_arm_needs_one_seed_there() -> None:
    *arms, ensembled = planned()
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


def test_the_number_of_all_labels_adds_nothing() -> None:
    arms = planned()
    assert plan_cells(arms, [80], [1], parts_of(80, 20)) == plan_cells(
        arms, [], [1], parts_of(80, 20)
    )


def test_the_question_is_the_first_comparison() -> None:
    pairs = planned_comparisons(planned(others={"causal": OTHER}, frozen=True))
    assert pairs[0] == ("pretrained", "scratch")
    assert ("causal", "pretrained") in pairs
    assert ("frozen", "pretrained") in pairs
    assert pairs[-3:] == [("stacked", "tfidf"), ("stacked", "pretrained"), ("ensemble", "tfidf")]
    assert len(set(pairs)) == len(pairs)


def test_an_arm_with_feature_runs_is_compared_with_those_without() -> None:
    without = planned_comparisons(planned())
    pairs = planned_comparisons(planned(feature_runs=[OTHER]))
    assert pairs == [*without, ("stacked+runs", "tfidf"), ("stacked+runs", "stacked")]


def test_arms_that_are_shown_on_single_texts() -> None:
    arms = planned(others={"causal": OTHER}, frozen=True, feature_runs=[OTHER], auxiliary_texts=9)
    assert detailed_arms(arms) == [
        *("pretrained", "scratch", "tfidf", "stacked", "ensemble", "stacked+runs", "tfidf+aux"),
    ]


def test_the_bases_that_a_report_presents() -> None:
    arms = planned(others={"causal": OTHER}, frozen=True, feature_runs=[OTHER])
    assert presented_bases(arms) == {"pretrained": BASE, "causal": OTHER}

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


def test_further_runs_come_after_scratch_and_frozen_ones_after_them() -> None:
    arms = planned(others={"causal": OTHER}, frozen=True)
    assert [arm.name for arm in arms][:5] == [
        *("pretrained", "scratch", "causal", "frozen", "causal-frozen"),
    ]


@pytest.mark.parametrize(
    ("options", "name", "opponents"),
    [
        ({"feature_runs": [OTHER]}, "stacked+runs", ("tfidf", "stacked")),
        ({"auxiliary_texts": 900}, "tfidf+aux", ("tfidf", "pretrained")),
    ],
)
def test_an_option_adds_an_arm_and_its_comparisons_at_the_end(
    options: dict[str, object], name: str, opponents: tuple[str, ...]
) -> None:
    without, arms = planned(), planned(**options)
    assert arms[:-1] == without and arms[-1].name == name
    added = [(name, opponent) for opponent in opponents]
    assert planned_comparisons(arms) == [*planned_comparisons(without), *added]


@pytest.mark.parametrize("name", [*ARMS, "a/b", "", "mine-frozen", "a b", "a" * 51])
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


def test_arms_that_are_shown_on_single_texts() -> None:
    arms = planned(others={"causal": OTHER}, frozen=True, feature_runs=[OTHER], auxiliary_texts=9)
    assert detailed_arms(arms) == [
        *("pretrained", "scratch", "tfidf", "stacked", "ensemble", "stacked+runs", "tfidf+aux"),
    ]


def test_the_bases_that_a_report_presents() -> None:
    arms = planned(others={"causal": OTHER}, frozen=True, feature_runs=[OTHER])
    assert presented_bases(arms) == {"pretrained": BASE, "causal": OTHER}

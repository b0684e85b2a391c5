"""What every registered arm declares."""

from __future__ import annotations

import inspect

import pytest

from greffe.report.catalog import load_catalog
from greffe.report.charts.styles import SLOTS
from greffe.run import RunDirectory
from greffe.study.arms import ARMS, ArmOptions, DerivedArm, PlannedArm, TrainedArm
from greffe.study.plan import plan_arms

EVERYTHING = ArmOptions(
    base=RunDirectory("runs/base"),
    others={"other": RunDirectory("runs/other")},
    frozen=True,
    feature_runs=[RunDirectory("runs/features")],
    auxiliary_texts=9,
)


def test_kinds_come_in_the_order_of_the_report() -> None:
    orders = [arm.order for arm in ARMS.values()]
    assert orders == sorted(set(orders))
    assert all(arm.kind == kind for kind, arm in ARMS.items())


def test_no_two_kinds_look_the_same() -> None:
    slots = [arm.style_slot for arm in ARMS.values()]
    assert len(set(slots)) == len(slots)
    assert set(slots) <= set(range(SLOTS))


@pytest.mark.parametrize("kind", ARMS)
def test_every_kind_is_complete(kind: str) -> None:
    arm = ARMS[kind]
    assert not inspect.isabstract(arm)
    assert issubclass(arm, TrainedArm) != issubclass(arm, DerivedArm)
    assert set(arm.compared_with) <= set(ARMS) - {kind}
    [usual] = [one for one in arm.planned(EVERYTHING) if one.is_usual]
    assert usual.weight(100) >= 1


@pytest.mark.parametrize("kind", ARMS)
@pytest.mark.parametrize("language", ["en", "fr"])
def test_every_kind_has_its_names_in_every_language(kind: str, language: str) -> None:
    catalog = load_catalog(language)  # type: ignore[arg-type]
    assert catalog.has(f"arms.{kind}") and catalog.has(f"arm_titles.{kind}")


def test_planned_arms_have_names_of_their_own() -> None:
    arms: list[PlannedArm] = plan_arms(EVERYTHING)
    assert {arm.kind for arm in arms} == set(ARMS)
    assert len({arm.name for arm in arms}) == len(arms)

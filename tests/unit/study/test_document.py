"""Study documents: they survive JSON and know the kinds of arms."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from tests.builders import arm, study_document

from greffe.study.arms import ARMS
from greffe.study.document import Arm, StudyDocument


def test_a_document_survives_json() -> None:
    document = study_document()
    assert StudyDocument.model_validate_json(document.model_dump_json()) == document


def test_an_arm_is_of_a_registered_kind() -> None:
    assert arm("stacked+runs", 0.8, name="mine").kind == "stacked+runs"
    with pytest.raises(ValidationError, match="'unknown' is not one of pretrained, scratch"):
        arm("unknown", 0.8)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("format", 2),
        ("arms", []),
        ("arms.0.name", "another"),
        ("arms.0.kept_run", "../../elsewhere"),
        ("arms.0.kept_run", "runs/.."),
        ("arms.0.confusion", [[1.0]]),
        ("arms.0.confusion.0", []),
        ("arms.0.accuracy.mean", 1e300),
        ("arms.0.cost.tokens", 10**30),
        ("arms.0.cost.tokens", 10**400),
        ("arms.0.calibration.0.count", -1),
        ("comparisons", []),
        ("comparisons.0.first", "another"),
        ("label_curves.points.0.arm", "another"),
        ("label_curves.savings.0.against", "another"),
        ("disagreements.0.predictions.0.arm", "another"),
        ("pictures.0.values", []),
        ("pictures.0.values.0", []),
        ("proof.moves.0.part", "another"),
        ("findings.0.kind", "another"),
        ("findings.0.detail", {}),
        ("repeat.created", "yesterday"),
    ],
)
def test_a_document_whose_parts_contradict_each_other(path: str, value: object) -> None:
    tree = study_document().model_dump(mode="json")
    assert StudyDocument.model_validate(tree) == study_document()
    *above, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    inner: Any = tree
    for key in above:
        inner = inner[key]
    inner[last] = value
    with pytest.raises(ValidationError):
        StudyDocument.model_validate(tree)


@pytest.mark.parametrize("kind", ARMS)
def test_the_run_of_every_kind_of_arm_can_be_kept(kind: str) -> None:
    path = f"runs/{kind}-all-1"
    fields = arm(kind, 0.8).model_dump() | {"kept_run": path}
    assert Arm.model_validate(fields).kept_run == path

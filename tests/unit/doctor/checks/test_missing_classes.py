"""Classes that occur in one part only."""

from __future__ import annotations

from tests.unit.doctor.labelled_texts import of_classes

from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.missing_classes import missing_classes


def found_in(**parts):
    return list(missing_classes(LabelledData(parts=parts)))


def test_classes_in_one_part_only():
    train, test = of_classes({"a": 5, "b": 5}), of_classes({"a": 5, "b": 5})
    assert found_in(train=train, test=test) == []
    assert found_in(train=train) == []
    unseen, untested = found_in(
        train=of_classes({"a": 5, "b": 5, "c": 1}), test=of_classes({"d": 2})
    )
    assert (unseen.kind, unseen.severity, unseen.where) == ("unseen_class", "warning", "test")
    assert (unseen.count, unseen.total, unseen.detail["label"]) == (1, 1, "d")
    assert (untested.kind, untested.severity, untested.where) == ("untested_class", "note", "train")
    assert (untested.count, untested.total, untested.detail["label"]) == (3, 3, "a")

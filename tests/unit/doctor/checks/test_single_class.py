"""Texts that all have the same label."""

from __future__ import annotations

from tests.unit.doctor.labelled_texts import of_classes

from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.single_class import single_class


def test_single_class():
    parts = {"train": of_classes({"a": 12}), "test": of_classes({"a": 3, "b": 3})}
    (found,) = single_class(LabelledData(parts=parts))
    assert (found.severity, found.where, found.count) == ("serious", "train", 12)
    assert found.detail["label"] == "a" and found.example == "a 0"


def test_two_classes_to_learn_from_are_enough():
    parts = {"train": of_classes({"a": 3, "b": 3}), "test": of_classes({"a": 3})}
    assert list(single_class(LabelledData(parts=parts))) == []

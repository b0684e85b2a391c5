"""Classes with too few texts."""

from __future__ import annotations

from tests.unit.doctor.labelled_texts import of_classes

from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.few_labels import few_labels


def found_in(counts):
    return list(few_labels(LabelledData(parts={"train": of_classes(counts)})))


def test_few_labels():
    assert found_in({"a": 10, "b": 12}) == []
    (found,) = found_in({"a": 9, "b": 12, "c": 2})
    assert (found.count, found.total, found.detail["label"], found.detail["texts"]) == (
        2,
        3,
        "c",
        2,
    )
    assert found.example == "c 0"

"""Models that predict one class only."""

from __future__ import annotations

from tests.unit.doctor.labelled_texts import of_classes

from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.single_prediction import single_prediction


def found_in(predicted, counts):
    data = LabelledData(parts={"test": of_classes(counts)}, predictions={"scratch": predicted})
    return list(single_prediction(data))


def test_a_model_with_one_answer():
    (found,) = found_in(["a"] * 99 + ["b"], {"a": 60, "b": 40})
    assert (found.kind, found.severity, found.where) == ("one_class", "serious", "scratch")
    assert (found.count, found.total, found.detail["label"]) == (99, 100, "a")
    assert found.example == "b 0"


def test_several_answers_or_one_true_class_are_fine():
    assert found_in(["a"] * 98 + ["b"] * 2, {"a": 60, "b": 40}) == []
    assert found_in(["a"] * 100, {"a": 90, "b": 10}) == []
    assert found_in(["a"] * 100, {"a": 89, "b": 11}) != []

"""Dominant and rare classes."""

from __future__ import annotations

import pytest
from tests.unit.doctor.labelled_texts import of_classes

from greffe.doctor.checks.balance import balance
from greffe.doctor.checks.check import LabelledData


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"a": 50, "b": 50}, []),
        ({"a": 65, "b": 35}, []),
        ({"a": 66, "b": 34}, [("imbalance", "note", "a", 66)]),
        ({"a": 80, "b": 20}, [("imbalance", "note", "a", 80)]),
        ({"a": 81, "b": 19}, [("imbalance", "warning", "a", 81)]),
        ({"a": 48, "b": 48, "c": 4}, [("rare_class", "warning", "c", 4)]),
        ({"a": 95, "b": 5}, [("imbalance", "warning", "a", 95)]),
        ({str(number): 10 for number in range(30)}, []),
        ({"a": 10}, []),
    ],
)
def test_balance(counts, expected):
    found = list(balance(LabelledData(parts={"train": of_classes(counts)})))
    assert [(f.kind, f.severity, f.detail["label"], f.count) for f in found] == expected
    assert all(f.total == sum(counts.values()) and f.where == "train" for f in found)


def test_balance_of_another_part_is_reported_if_it_differs():
    parts = {"train": of_classes({"a": 70, "b": 30}), "test": of_classes({"a": 7, "b": 3})}
    assert [f.where for f in balance(LabelledData(parts=parts))] == ["train"]
    parts["test"] = of_classes({"a": 3, "b": 7})
    assert [f.where for f in balance(LabelledData(parts=parts))] == ["train", "test"]

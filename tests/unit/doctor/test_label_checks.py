"""Checks of labels, each both ways."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest

from greffe.data.tables import Example
from greffe.doctor import label_checks as doctor_labels
from greffe.doctor.label_checks import (
    check_balance,
    check_classes,
    check_few,
    check_order,
    one_class,
)


def of(counts, prefix=""):
    return [
        Example(f"{prefix}{label} {number}", label)
        for label, count in counts.items()
        for number in range(count)
    ]


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
    found = list(check_balance({"train": of(counts)}))
    assert [(f.kind, f.severity, f.detail["label"], f.count) for f in found] == expected
    assert all(f.total == sum(counts.values()) and f.where == "train" for f in found)


def test_balance_of_another_part_is_said_if_it_differs():
    parts = {"train": of({"a": 70, "b": 30}), "test": of({"a": 7, "b": 3})}
    assert [f.where for f in check_balance(parts)] == ["train"]
    parts["test"] = of({"a": 3, "b": 7})
    assert [f.where for f in check_balance(parts)] == ["train", "test"]


def test_few_labels():
    assert list(check_few(of({"a": 10, "b": 12}), "train")) == []
    (found,) = check_few(of({"a": 9, "b": 12, "c": 2}), "train")
    assert (found.count, found.total, found.detail["label"], found.detail["texts"]) == (
        2,
        3,
        "c",
        2,
    )
    assert found.example == "c 0"


def test_classes_in_one_part_only():
    train, test = of({"a": 5, "b": 5}), of({"a": 5, "b": 5})
    assert list(check_classes({"train": train, "test": test})) == []
    assert list(check_classes({"train": train})) == []
    unseen, untested = check_classes({"train": of({"a": 5, "b": 5, "c": 1}), "test": of({"d": 2})})
    assert (unseen.kind, unseen.severity, unseen.where) == ("unseen_class", "warning", "test")
    assert (unseen.count, unseen.total, unseen.detail["label"]) == (1, 1, "d")
    assert (untested.kind, untested.severity, untested.where) == ("untested_class", "note", "train")
    assert (untested.count, untested.total, untested.detail["label"]) == (3, 3, "a")


@pytest.mark.parametrize(
    "labels", ["a" * 50 + "b" * 50, ("a" * 25 + "b" * 25) * 2, "a" * 30 + "b" * 30 + "c" * 30]
)
def test_labels_in_blocks(labels):
    (found,) = check_order([Example(str(n), label) for n, label in enumerate(labels)], "train")
    assert found.kind == "order"
    assert found.count == sum(first != second for first, second in pairwise(labels))
    assert found.detail["expected"] in (50, 60)


@pytest.mark.parametrize("labels", ["ab" * 50, "aabb" * 25, "a" * 100, "", "a", "aaaabbbb"])
def test_labels_in_no_blocks(labels):
    assert list(check_order([Example("x", label) for label in labels], "train")) == []


def test_shuffled_labels_are_left_alone():
    from greffe.seeding import rng

    for seed in range(200):
        labels = rng(seed, "labels").choice(["a", "b", "c"], 60, p=[0.6, 0.3, 0.1])
        assert list(check_order([Example("x", str(label)) for label in labels], "train")) == []


def test_moments_of_the_runs_test_are_those_of_all_orders(monkeypatch):
    labels = "aaabbcc"
    orders = list(permutations(labels))
    changes = [sum(first != second for first, second in pairwise(order)) for order in orders]
    mean = sum(changes) / len(changes)
    deviation = (sum((change - mean) ** 2 for change in changes) / len(changes)) ** 0.5
    sorted_examples = [Example("x", label) for label in labels]
    standard = (2 - mean) / deviation
    monkeypatch.setattr(doctor_labels, "BLOCK_DEVIATIONS", standard + 1e-9)
    (found,) = check_order(sorted_examples, "train")
    assert found.detail["expected"] == round(mean)
    monkeypatch.setattr(doctor_labels, "BLOCK_DEVIATIONS", standard - 1e-9)
    assert list(check_order(sorted_examples, "train")) == []


def test_a_model_with_one_answer():
    targets = of({"a": 60, "b": 40})
    found = one_class("scratch", ["a"] * 99 + ["b"], targets)
    assert found is not None
    assert (found.kind, found.severity, found.where) == ("one_class", "serious", "scratch")
    assert (found.count, found.total, found.detail["label"]) == (99, 100, "a")
    assert found.example == "b 0"
    assert one_class("scratch", ["a"] * 98 + ["b"] * 2, targets) is None
    assert one_class("scratch", ["a"] * 100, of({"a": 90, "b": 10})) is None
    assert one_class("scratch", ["a"] * 100, of({"a": 89, "b": 11})) is not None
    assert one_class("scratch", [], []) is None

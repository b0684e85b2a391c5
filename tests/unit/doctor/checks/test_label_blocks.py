"""Labels that come in blocks."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest

from greffe.data.tables import Example
from greffe.doctor.checks import label_blocks as module
from greffe.doctor.checks.check import LabelledData
from greffe.seeding import rng


def found_in(labels):
    examples = [Example("x", label) for label in labels]
    return list(module.label_blocks(LabelledData(parts={"train": examples})))


@pytest.mark.parametrize(
    "labels", ["a" * 50 + "b" * 50, ("a" * 25 + "b" * 25) * 2, "a" * 30 + "b" * 30 + "c" * 30]
)
def test_labels_in_blocks(labels):
    (found,) = found_in(labels)
    assert found.kind == "order"
    assert found.count == sum(first != second for first, second in pairwise(labels))
    assert found.detail["expected"] in (50, 60)


@pytest.mark.parametrize("labels", ["ab" * 50, "aabb" * 25, "a" * 100, "a", "aaaabbbb"])
def test_labels_in_no_blocks(labels):
    assert found_in(labels) == []


def test_shuffled_labels_are_left_alone():
    for seed in range(200):
        labels = rng(seed, "labels").choice(["a", "b", "c"], 60, p=[0.6, 0.3, 0.1])
        assert found_in(map(str, labels)) == []


def test_moments_of_the_runs_test_are_those_of_all_orders(monkeypatch):
    labels = "aaabbcc"
    orders = list(permutations(labels))
    changes = [sum(first != second for first, second in pairwise(order)) for order in orders]
    mean = sum(changes) / len(changes)
    deviation = (sum((change - mean) ** 2 for change in changes) / len(changes)) ** 0.5
    standard = (2 - mean) / deviation
    monkeypatch.setattr(module, "BLOCK_DEVIATIONS", standard + 1e-9)
    (found,) = found_in(labels)
    assert found.detail["expected"] == round(mean)
    monkeypatch.setattr(module, "BLOCK_DEVIATIONS", standard - 1e-9)
    assert found_in(labels) == []

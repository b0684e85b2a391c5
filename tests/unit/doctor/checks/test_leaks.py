"""Copies across parts."""

from __future__ import annotations

from tests.unit.doctor.labelled_texts import LONG, different

from greffe.data.tables import Example
from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.leaks import leaks


def test_different_texts_have_no_copies():
    parts = {"train": different(0, 30), "valid": different(30, 10), "test": different(40, 10)}
    assert list(leaks(LabelledData(parts=parts))) == []


def test_leaks_are_told_apart_and_counted_in_the_later_part():
    train = [*different(0, 10), Example(LONG, "a"), Example("Très bien", "b")]
    changed = LONG.replace("perdu", "disparu")
    test = [Example("TRÈS bien !", "b"), Example(changed, "a"), Example(LONG, "a")]
    valid = different(20, 5)
    parts = {"train": train, "valid": valid, "test": test}
    leak, near = leaks(LabelledData(parts=parts))
    assert (leak.kind, leak.severity, leak.where) == ("leak", "serious", "train and test")
    assert (leak.count, leak.total, leak.example) == (2, 3, "TRÈS bien !")
    assert (near.kind, near.severity, near.where) == ("near_leak", "serious", "train and test")
    assert (near.count, near.total) == (1, 3)
    assert " ≈ " in near.example
    assert len(near.example) <= 160

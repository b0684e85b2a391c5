"""Copies within a part."""

from __future__ import annotations

from tests.unit.doctor.labelled_texts import LONG, different

from greffe.data.tables import Example
from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.repeated_texts import repeated_texts


def test_copies_within_a_part_are_notes():
    train = [*different(0, 10), *different(0, 2), Example(LONG, "a"), Example(f"{LONG} Fin", "a")]
    exact, near = repeated_texts(LabelledData(parts={"train": train}))
    assert (exact.kind, exact.severity, exact.count) == ("duplicates", "note", 2)
    assert (near.kind, near.severity, near.count) == ("near_duplicates", "note", 1)
    assert (exact.total, exact.where, exact.example) == (14, "train", train[0].text)


def test_empty_texts_are_no_copies_of_each_other():
    parts = {"train": [Example("", "a"), Example(" ", "b")]}
    assert list(repeated_texts(LabelledData(parts=parts))) == []

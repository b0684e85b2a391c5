"""What a check is given: parts in order, copies without empty texts."""

from __future__ import annotations

from greffe.data.tables import Example
from greffe.doctor.checks.check import CHECKS, LabelledData, text_of_class


def test_a_check_applies_if_all_that_it_needs_is_given() -> None:
    data = LabelledData(parts={"train": [Example("un texte", "a")]})
    for check in CHECKS.values():
        assert check.applies(data) == (not check.needs)


def test_the_first_part_is_learned_and_the_last_is_tested() -> None:
    train, test = [Example("un", "a")], [Example("deux", "b")]
    data = LabelledData(parts={"train": train, "test": test})
    assert (data.first, data.last) == (("train", train), ("test", test))
    assert LabelledData(parts={"valid": test}).first == LabelledData(parts={"valid": test}).last


def test_copies_leave_empty_texts_out_but_count_them() -> None:
    train, test = [Example(" ", "a"), Example("un", "a")], [Example("deux", "b")]
    copies = LabelledData(parts={"train": train, "test": test}).copies
    assert copies.total == {"train": 2, "test": 1}
    assert (copies.indices("train"), copies.indices("test")) == ([0], [1])
    assert copies.text(1) == "deux"


def test_a_class_is_shown_by_its_first_text() -> None:
    examples = [Example("un", "a"), Example("deux", "b"), Example("trois", "b")]
    assert text_of_class(examples, "b") == "deux"

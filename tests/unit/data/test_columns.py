from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from greffe.data.columns import (
    Row,
    Table,
    find_label,
    find_text,
    is_header,
    label_of,
    text_of,
)
from greffe.errors import DataError


@dataclass(frozen=True)
class Empty(Table):
    def rows(self, indices: Sequence[int]) -> Iterator[Row]:
        return iter(())


def table(*columns: str, headed: bool = True) -> Table:
    return Empty("a.csv", columns, headed)


def test_a_header_has_a_known_name_or_the_users() -> None:
    assert is_header(["id", " Text "], (None, None))
    assert not is_header(["1", "un livre"], (None, None))
    assert is_header(["1", "un livre"], ("message", None))


@pytest.mark.parametrize(
    ("columns", "text", "label"),
    [
        (("label", "text"), 1, 0),
        (("REVIEW", "Stars"), 0, 1),
        (("id", "avis", "étiquette"), 1, 2),
        # Both names are known for texts; the first in the list of names wins.
        (("sentiment", "comment", "text"), 2, 0),
    ],
)
def test_columns_by_known_names(columns: tuple[str, ...], text: int, label: int) -> None:
    assert find_text(table(*columns), None) == text
    assert find_label(table(*columns), None, text=text) == label


def test_a_decomposed_name_is_the_same_name() -> None:
    assert find_label(table("text", "e\u0301tiquette"), None, text=0) == 1


def test_columns_by_the_users_name() -> None:
    # An exact match comes before one in another case.
    assert find_text(table("Message", "message", "label"), "message") == 1
    assert find_label(table("text", "Mood"), "mood", text=0) == 1


def test_without_a_header_the_label_comes_first() -> None:
    two = table("1", "un livre", headed=False)
    assert (find_text(two, None), find_label(two, None, text=1)) == (1, 0)
    assert find_text(table("un livre", headed=False), None) == 0


def test_cells_as_strings() -> None:
    some = table("text", "label")
    assert [text_of(value, some, 1) for value in ("a", None, math.nan, 3, b"\xc3\xa9")] == [
        *("a", "", "", "3", "é")
    ]
    assert [label_of(value, some, 1) for value in (" a ", 1.0, 1.5, True, 1e300)] == [
        *("a", "1", "1.5", "True", "1e+300")
    ]


@pytest.mark.parametrize("value", [None, "", "  ", math.nan])
def test_a_missing_label_names_its_row(value: object) -> None:
    with pytest.raises(DataError, match=r"Line 7 of a\.csv has no label"):
        label_of(value, table("text", "label"), 7)


@pytest.mark.parametrize(("value", "found"), [([1], "[1]"), (b"\xff", "0xFF"), (-math.inf, "-inf")])
def test_cells_that_are_no_text_are_refused(value: object, found: str) -> None:
    with pytest.raises(DataError, match=r"Line 2 of a\.csv") as caught:
        text_of(value, table("text"), 2)
    assert found in str(caught.value.found)

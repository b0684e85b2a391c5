from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from greffe.config.recorded import LARGEST_COUNT, Count, Figure, FileName, Measure, Moment


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Count, 0),
        (Count, LARGEST_COUNT),
        (FileName, "tfidf+aux-200-1"),
        (FileName, "é_2.x"),
        (Moment, "2026-11-17T22:17:00+00:00"),
        (Moment, "2026-11-17"),
        (Measure, -1.5),
        (Measure, None),
        (Figure, "best"),
    ],
)
def test_what_files_record_is_read(kind: Any, value: object) -> None:
    assert TypeAdapter(kind).validate_python(value) == value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Count, -1),
        (Count, LARGEST_COUNT + 1),
        (FileName, ".."),
        (FileName, "../x"),
        (FileName, "a/b"),
        (FileName, ".hidden"),
        (FileName, "a\n"),
        (FileName, ""),
        (FileName, "x" * 201),
        (Moment, "yesterday"),
        (Measure, "x"),
        (Figure, [1]),
    ],
)
def test_anything_else_is_refused(kind: Any, value: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(value)


def test_a_measure_that_is_not_finite_is_written_as_null() -> None:
    assert TypeAdapter(Measure).dump_python(float("nan"), mode="json") is None
    assert TypeAdapter(Measure).dump_python(2.5, mode="json") == 2.5

"""Values that files record, one type each: counts, measurements, names, dates.

The numbers that users give are in `bounds.py`.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, PlainSerializer

LARGEST_COUNT = 1 << 53
"""JSON numbers are exact up to here, and no file, corpus or training has more of anything."""

Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
"""How many of something there are, as files record it."""
FileName = Annotated[str, Field(pattern=r"^\w[\w.+-]*$", max_length=200)]
"""The name of a file without its suffix: never a path that leads elsewhere."""


def _check_moment(text: str) -> str:
    datetime.fromisoformat(text)  # a ValueError says what is wrong
    return text


Moment = Annotated[str, AfterValidator(_check_moment)]
"""A date, with or without a time, in ISO 8601."""


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


Measure = (
    Annotated[int, Field(ge=-LARGEST_COUNT, le=LARGEST_COUNT)]
    | Annotated[float, PlainSerializer(_finite_or_none)]
    | None
)
"""A measured number; null in a file if it is not finite."""
Figure = bool | Measure | str
"""One value among results or in a log."""

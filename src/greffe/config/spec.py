"""Spec: a frozen, typed group of choices."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer

LARGEST_COUNT = 1 << 53
"""JSON numbers are exact up to here, and no file, corpus or training has more of anything."""

Count = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
"""How many of something there are, as files record it."""
FileName = Annotated[str, Field(pattern=r"^[\w.+-]+$", max_length=200)]
"""The name of a file without its suffix: never a path that leads elsewhere."""
Fraction = Annotated[float, Field(ge=0, le=1)]
"""An accuracy, a probability or a part of a whole."""


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


class Spec(BaseModel):
    """A frozen group of choices. Unknown keys are errors; docstrings of fields are their help."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Give a field that only changes an inherited default the inherited help."""
        super().__pydantic_init_subclass__(**kwargs)
        for base in cls.__mro__[1:]:
            if issubclass(base, Spec):
                for name, inherited in base.model_fields.items():
                    field = cls.model_fields[name]
                    field.description = field.description or inherited.description

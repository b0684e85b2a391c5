"""Spec: a frozen, typed group of choices."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """A frozen group of choices. Unknown keys are errors; docstrings of fields are their help."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        defer_build=True,  # a command uses few of the specs that it imports
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

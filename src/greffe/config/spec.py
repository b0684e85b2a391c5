"""Spec: a frozen, typed group of choices."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from greffe.config.field_docs import field_docs


class Spec(BaseModel):
    """A frozen group of choices. Unknown keys are errors; docstrings of fields are their help."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        defer_build=True,  # a command uses few of the specs that it imports
    )

    @classmethod
    def help_texts(cls) -> dict[str, str]:
        """Return the help of each field; one that only changes a default keeps the inherited."""
        texts: dict[str, str] = {}
        for base in reversed(cls.__mro__):
            if issubclass(base, Spec):
                texts |= field_docs(base)
        return texts

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the JSON schema with the help of each field."""
        found = handler(schema)
        fields = handler.resolve_ref_schema(found).get("properties", {})
        for name, text in cls.help_texts().items():
            if name in fields:
                fields[name]["description"] = text
        return found

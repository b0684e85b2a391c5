"""Components: specs of several kinds, found by `kind` in the registry of their family.

A family names the package that holds its kinds. Importing the package imports each of its modules,
and each module registers the classes that it defines. The import happens at the first look-up, so
this module depends on no family, and reading a spec that has no component loads nothing else.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, ClassVar, Self

from pydantic import BaseModel, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from greffe.config.spec import Spec

UNKNOWN_KIND = "unknown_kind"
"""Type of the validation error for a kind that is missing or not registered."""


class Component(Spec):
    """A spec that may be of several kinds.

    A direct subclass is a family: it sets `package`. A subclass of a family that gives `kind` a
    default is one of its kinds. A field of a family's type accepts every kind of the family.
    """

    package: ClassVar[str]
    """Package whose modules define the family's kinds."""
    registry: ClassVar[dict[str, type[Component]]]
    """The family's classes by kind, filled by the import of their modules."""
    kind: str
    """Which one of the family it is; the other choices depend on it."""

    @classmethod
    def kinds(cls) -> dict[str, type[Self]]:
        """Return all registered classes of this family, or of this part of it, sorted by kind."""
        import_module(cls.package)
        found = sorted(cls.registry.items())
        return {kind: component for kind, component in found if issubclass(component, cls)}

    @classmethod
    def of_kind(cls, kind: str) -> Self:
        """Return a component of this kind with its default choices."""
        return cls.kinds()[kind]()  # type: ignore[call-arg]  # a kind has a default for it

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "package" in vars(cls):
            cls.registry = {}
        elif isinstance(kind := cls.model_fields["kind"].default, str):
            assert kind not in cls.registry, f"two components are called {kind!r}"
            cls.registry[kind] = cls

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        if "package" not in vars(cls):
            return handler(source)
        # Any: serialize every field of the class that was found, not of the family alone.
        return core_schema.no_info_before_validator_function(cls._read, core_schema.any_schema())

    @classmethod
    def _read(cls, value: object) -> Component:
        """Return a component as it is, or build one from a table with its kind."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise PydanticCustomError("table_type", "a table with a kind, such as { kind = … }")
        kinds = cls.kinds()
        kind = value.get("kind")
        if not isinstance(kind, str) or kind not in kinds:
            problem = PydanticCustomError(
                UNKNOWN_KIND, "one of {kinds}", {"kinds": ", ".join(kinds)}
            )
            details = InitErrorDetails(type=problem, loc=("kind",), input=kind)
            raise ValidationError.from_exception_data(cls.__name__, [details])
        return kinds[kind].model_validate(value)


def import_modules(package: str, path: Iterable[str]) -> None:
    """Import every module of a package, so that each one registers what it defines."""
    for module in pkgutil.iter_modules(path):
        import_module(f"{package}.{module.name}")

"""config.json of a model in Hugging Face format: values by name, each checked when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from greffe.config.sections import Activation
from greffe.errors import CorruptError, InputError, quote

CONFIG_FILE = "config.json"
ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}

ACTIVATION_NAMES: dict[Activation, str] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_tanh": "gelu_new",
    "silu": "silu",
}
"""What an activation is called in a config.json that greffe writes."""

LARGEST = 1e30
"""Numbers beyond it overflow single precision."""


@dataclass(frozen=True)
class Config:
    """The values of a config.json; `source` is what messages call it."""

    values: Mapping[str, Any]
    source: str

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an integer from 0 on; the default, if any, for null or a missing value."""
        value = self.values.get(name)
        value = default if value is None else value
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._wrong(name, "an integer")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number."""
        value = self.values.get(name)
        value = default if value is None else value
        if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > LARGEST:
            raise self._wrong(name, "a number")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false."""
        value = self.values.get(name)
        value = default if value is None else value
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def biases(self, *names: str) -> bool:
        """Return whether linear layers have biases: in greffe either all of a block or none."""
        first, *others = names
        has_bias = self.flag(first, False)
        for name in others:
            if self.flag(name, False) != has_bias:
                raise self.unsupported(name, f"{str(has_bias).lower()}, as {first} is")
        return has_bias

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text."""
        value = self.values.get(name)
        value = default if value is None else value
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def activation(self, name: str, default: str | None = None) -> Activation:
        """Return an activation by its name in transformers."""
        value = self.text(name, default)
        if value not in ACTIVATIONS:
            raise self.unsupported(name, ", ".join(ACTIVATIONS))
        return ACTIVATIONS[value]

    def require(self, name: str, *allowed: object) -> None:
        """Raise an error unless a value is missing, null or one of those allowed."""
        value = self.values.get(name)
        if value is not None and value not in allowed:
            raise self.unsupported(name, ", ".join(map(str, allowed)) or "no such value")

    def unsupported(self, name: str, expected: str) -> InputError:
        """Return the error for a choice that greffe does not have."""
        return InputError(
            f"{self.source} describes a model that greffe cannot build.",
            expected=f"{name}: {expected}",
            found=quote(self.values.get(name)),
        )

    def _wrong(self, name: str, expected: str) -> CorruptError:
        found = quote(self.values[name]) if name in self.values else "no such value"
        return CorruptError(
            f"{self.source} is damaged or incomplete.",
            expected=f"{name}: {expected}",
            found=found,
        )

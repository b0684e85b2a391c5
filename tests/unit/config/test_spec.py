"""Specs: frozen groups of choices that know their help texts."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from greffe.config.spec import Spec


class Oven(Spec):
    degrees: float = 180.0
    """Temperature of the oven."""


class Grill(Oven):
    degrees: float = 250.0


def test_a_changed_default_keeps_its_help_text() -> None:
    assert Grill.help_texts() == {"degrees": "Temperature of the oven."}
    assert (Oven().degrees, Grill().degrees) == (180.0, 250.0)


def test_a_spec_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Oven().degrees = 200.0  # type: ignore[misc]


@pytest.mark.parametrize("choices", [{"degree": 200}, {"degrees": float("nan")}])
def test_unknown_keys_and_nan_are_errors(choices: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Oven.model_validate(choices)

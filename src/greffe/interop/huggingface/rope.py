"""Rotary positions in a config.json: old names, new names, and the variants that greffe lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from greffe.config.sections import ModelSpec
from greffe.errors import InputError, quote
from greffe.interop.huggingface.config import Config
from greffe.model.positions.rotary import Rotary


def rope_parameters(config: Config) -> Mapping[str, Any]:
    """Return the table of rotary positions, which older files call rope_scaling; may be empty."""
    for name in ("rope_scaling", "rope_parameters"):
        value = config.values.get(name)
        if value:
            if not isinstance(value, Mapping):
                raise config.unsupported(name, "a table")
            return value
    return {}


def rope_base(config: Config, parameters: Any, default: float) -> float:
    """Return the base of one table of rotary positions, of which only the plain kind is known."""
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, Mapping):
        raise config.unsupported("rope_parameters", "a table")
    kind = parameters.get("rope_type", parameters.get("type")) or "default"
    part = parameters.get("partial_rotary_factor", config.values.get("partial_rotary_factor"))
    if kind != "default" or part not in (None, 1):
        raise InputError(
            f"{config.source} describes a model that greffe cannot build.",
            expected="rotary positions that are not scaled, over all columns of a head",
            found=f"rope_type {quote(kind)}, partial_rotary_factor {quote(part or 1)}",
            hint="choose a base without scaled positions",
        )
    own = Config({"rope_theta": parameters.get("rope_theta")}, config.source)
    base = own.number("rope_theta", default)
    if not base > 1:
        raise own.unsupported("rope_theta", "a number above 1")
    return base


def rotary_bases(model: ModelSpec) -> tuple[float, float]:
    """Return the base of a model's rotary positions, and that of its blocks with a window."""
    position = model.position if isinstance(model.position, Rotary) else Rotary()
    return position.base, position.local_base or position.base


def rope_table(base: float) -> dict[str, Any]:
    """Return the table that `rope_base` reads."""
    return {"rope_type": "default", "rope_theta": base}

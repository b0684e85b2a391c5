"""Which class of transformers computes exactly what a run computes, if there is one.

A family expresses a model if reading the config.json that it writes for the model gives the same
model again: a choice that the family lacks is lost on the way.

No class of transformers expresses a classifier: those of the encoders have one more layer with an
activation, that of ModernBERT a norm as well, those of GPT-2 and Llama no bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from greffe.config.sections import ModelSpec
from greffe.errors import GreffeError
from greffe.interop.huggingface import families
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.esm import Esm
from greffe.interop.huggingface.family import LANGUAGE_HEADS, Family, SpecialIds
from greffe.run import Manifest

assert families  # importing them registers them


@dataclass(frozen=True)
class StockClass:
    """A class of transformers for a run, and the family that knows its tensors."""

    family: Family
    name: str
    config: Config


def stock_class(model: ModelSpec, manifest: Manifest, special: SpecialIds) -> StockClass | None:
    """Return the class for a language model; the family that the run names comes first."""
    if manifest.kind != "language-model":
        return None
    # No class has two heads for tokens.
    heads = "+".join(kind for kind in LANGUAGE_HEADS if kind in manifest.heads)
    by_preference = sorted(Family.registry, key=lambda name: (name != model.family, name))
    for family in (*map(Family.registry.__getitem__, by_preference), Esm()):
        direction = "causal" if family.objective == "causal" else "bidirectional"
        is_read = heads in family.classes and direction in manifest.directions
        config = family.config(model, manifest.vocab, special)
        if is_read and family.suits(special) and _expresses(family, config, model):
            return StockClass(family, family.classes[heads], config)
    return None


def _expresses(family: Family, config: Config, model: ModelSpec) -> bool:
    try:
        again = ModelSpec.model_validate(family.model(config))
    except (GreffeError, ValidationError):
        return False
    return _meaning(again) == _meaning(model)


def _meaning(model: ModelSpec) -> dict[str, Any]:
    """Return the choices of a model that its outputs depend on."""
    choices = model.model_dump(mode="json", exclude={"family", "dropout"})
    choices["kv_heads"] = model.kv_heads or model.heads
    choices["norm_bias"] = model.norm_bias and model.norm_kind == "layer"
    position = choices["position"]
    local_base = position.pop("local_base", None) or position.get("base")
    local = [model.is_local(number) for number in range(model.layers)]
    near = (local, model.window, local_base) if any(local) else None
    del choices["window"], choices["global_every"]
    return {**choices, "near": near}

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
from greffe.interop.huggingface.family import Family, SpecialIds
from greffe.run import Manifest

LANGUAGE_HEADS = ("next_token", "masked_token")

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
    heads = [kind for kind in LANGUAGE_HEADS if kind in manifest.heads]
    by_preference = sorted(Family.registry, key=lambda name: (name != model.family, name))
    for family in map(Family.registry.__getitem__, by_preference):
        direction = "causal" if family.objective == "causal" else "bidirectional"
        has_class = len(heads) < 2 and set(heads) <= family.classes.keys()
        if direction not in manifest.directions or not has_class or not family.suits(special):
            continue
        config = family.config(model, manifest.vocab, special)
        if _expresses(family, config, model):
            return StockClass(family, family.classes["".join(heads)], config)
    return None


def _expresses(family: Family, config: Config, model: ModelSpec) -> bool:
    try:
        fields = {**family.model(config), "family": family.name}
        again = ModelSpec.model_validate(fields)
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

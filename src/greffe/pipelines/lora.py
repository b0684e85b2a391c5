"""LoRA in a training: the base is frozen and gets adapters, before the first step or a resume."""

from __future__ import annotations

from greffe.config.sections import TrainSpec
from greffe.model.adapters import add_adapters, start_adapters
from greffe.model.formulas import count_parameters, lora_formula
from greffe.model.model import Model
from greffe.progress import notice
from greffe.training.optim import freeze_below


def adapt(model: Model, spec: TrainSpec, seed: int, name: str) -> None:
    """Freeze the base and add adapters as the recipe says; say how much will be trained."""
    layers, heads = model.spec.layers, list(model.head_specs.values())
    add_adapters(model.base.blocks[-spec.adapted_blocks(layers) :], spec.lora)
    start_adapters(model, seed)
    freeze_below(model, 0, layers, lora=True)
    formula, trained = lora_formula(model.spec, model.vocab, heads, spec)
    total = count_parameters(model.spec, model.vocab, heads)
    notice(
        f"{name}: LoRA trains {trained:,} parameters, {trained / total:.2%} of the model's "
        f"{total:,}: {formula}"
    )

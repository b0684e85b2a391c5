"""AdamW with parameter groups: layer-wise learning rates, weight decay, freezing, unfreezing."""

from __future__ import annotations

import re

import torch
from torch import nn

from greffe.config.sections import TrainSpec
from greffe.model.adapters import is_adapter

EMBEDDING = "base.embedding.weight"
_BLOCK = re.compile(r"base\.blocks\.(\d+)\.")


def level_of(name: str, layers: int) -> int:
    """Return a tensor's level: 0 for the embedding, 1 … layers for blocks, layers + 1 for heads."""
    if match := _BLOCK.match(name):
        return int(match[1]) + 1
    if name.startswith("base.final_norm"):
        return layers
    return 0 if name.startswith("base.") else layers + 1


def is_decayed(name: str, parameter: nn.Parameter) -> bool:
    """Return whether weight decay applies: to matrices, except embeddings and learned positions."""
    is_table = name.startswith(("base.embedding.", "base.position."))
    return parameter.ndim >= 2 and not is_table


def build_optimizer(model: nn.Module, spec: TrainSpec, layers: int) -> torch.optim.AdamW:
    """Build one group per level, decay and rate; `scale` multiplies the scheduled rate."""
    groups: dict[tuple[int, bool, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        key = (level_of(name, layers), is_decayed(name, parameter), name == EMBEDDING)
        groups.setdefault(key, []).append(parameter)
    return torch.optim.AdamW(
        [
            {
                "params": parameters,
                "scale": spec.layer_decay ** (layers + 1 - level)
                * (spec.embedding_rate if is_embedding else 1.0),
                "weight_decay": spec.weight_decay if decayed else 0.0,
            }
            for (level, decayed, is_embedding), parameters in sorted(
                groups.items(), key=lambda item: item[0]
            )
        ],
        lr=spec.lr,
        betas=spec.betas,
        eps=spec.epsilon,
        fused=True,
    )


def set_rates(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Set each group's learning rate to `lr` times its scale."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group["scale"]


def lowest_moving_level(spec: TrainSpec, layers: int, epoch: int) -> int:
    """Return the level below which tensors are frozen in this epoch (0-based)."""
    frozen = layers + 1 if spec.freeze == "base" else min(spec.freeze, layers + 1)
    if spec.gradual_unfreezing:
        frozen = max(frozen, layers + 1 - epoch)
    return frozen


def freeze_below(model: nn.Module, level: int, layers: int, *, lora: bool = False) -> None:
    """Disable gradients below `level`, which saves their memory and optimizer steps.

    With LoRA, also those of all weights of the base that are not adapters.
    """
    for name, parameter in model.named_parameters():
        is_open = not lora or is_adapter(name) or not name.startswith("base.")
        parameter.requires_grad_(is_open and level_of(name, layers) >= level)

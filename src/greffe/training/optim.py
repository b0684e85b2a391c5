"""AdamW with groups: layer-wise rates, spared parameters, freezing and gradual unfreezing."""

from __future__ import annotations

import re

import torch
from torch import nn

from greffe.config.recipe import TrainSpec

_BLOCK = re.compile(r"base\.blocks\.(\d+)\.")


def level_of(name: str, layers: int) -> int:
    """Height of a tensor: 0 the embedding, 1 … layers the blocks, layers + 1 the heads."""
    if match := _BLOCK.match(name):
        return int(match[1]) + 1
    if name.startswith("base.final_norm"):
        return layers
    return 0 if name.startswith("base.") else layers + 1


def is_decayed(name: str, parameter: nn.Parameter) -> bool:
    """Matrices decay; biases, norms, embeddings and learned positions do not."""
    is_table = name.startswith(("base.embedding", "base.position"))
    return parameter.ndim >= 2 and not is_table


def build_optimizer(model: nn.Module, spec: TrainSpec, layers: int) -> torch.optim.AdamW:
    """One group for each (height, decayed or not); a group's `scale` multiplies the schedule."""
    groups: dict[tuple[int, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        key = (level_of(name, layers), is_decayed(name, parameter))
        groups.setdefault(key, []).append(parameter)
    return torch.optim.AdamW(
        [
            {
                "params": parameters,
                "scale": spec.layer_decay ** (layers + 1 - level)
                * (spec.embedding_rate if level == 0 else 1.0),
                "weight_decay": spec.weight_decay if decayed else 0.0,
            }
            for (level, decayed), parameters in sorted(groups.items(), key=lambda item: item[0])
        ],
        lr=spec.lr,
        betas=spec.betas,
        eps=spec.epsilon,
        fused=True,
    )


def set_rates(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Give each group its share of `lr`."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group["scale"]


def lowest_moving_level(spec: TrainSpec, layers: int, epoch: int) -> int:
    """Tensors below this height are frozen in this epoch (0-based)."""
    frozen = layers + 1 if spec.freeze == "base" else min(spec.freeze, layers + 1)
    if spec.gradual_unfreezing:
        frozen = max(frozen, layers + 1 - epoch)
    return frozen


def freeze_below(model: nn.Module, level: int, layers: int) -> None:
    """Frozen tensors take no gradient, and so neither its memory nor an optimizer step."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(level_of(name, layers) >= level)

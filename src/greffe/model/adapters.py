"""Linear layers of the blocks, and the low-rank adapters (LoRA) that may be trained in their place.

A layer with an adapter computes x Wᵀ + b + scale · (x Aᵀ) Bᵀ. W and b are frozen, so that neither
has a gradient or moments; A [rank, in] starts random and B [out, rank] at zero, so that the model
starts as it was. After training, W + scale · B A takes the place of W. Knows nothing of objectives
or files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from greffe.config.lora import LoraSpec
from greffe.kernels.linear import linear
from greffe.seeding import derive

ADAPTER = "adapter"
DOWN, UP = f".{ADAPTER}.down", f".{ADAPTER}.up"


class Adapter(nn.Module):
    """What is added to the output of a frozen linear layer."""

    def __init__(self, inputs: int, outputs: int, lora: LoraSpec) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.empty(lora.rank, inputs))
        self.up = nn.Parameter(torch.empty(outputs, lora.rank))
        self.dropout = nn.Dropout(lora.dropout)
        self.scale = lora.scale

    def add_to(self, result: Tensor, x: Tensor, order: Tensor | None) -> Tensor:
        """Add the adapter's output for x [N, in] to the layer's result [N, out], in place."""
        up = self.up if order is None else self.up[order]
        narrow = F.linear(self.dropout(x), self.down.to(x.dtype))
        # In place: the result is as large as any tensor of a block, and no backward pass needs it.
        return result.addmm_(narrow, up.to(x.dtype).t(), alpha=self.scale)


class BlockLinear(nn.Linear):
    """A linear layer of a block; it may have an adapter."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self.adapter: Adapter | None
        self.register_module(ADAPTER, None)

    def forward(self, x: Tensor, order: Tensor | None = None) -> Tensor:
        """[..., in] → [..., out], the outputs in another order if one is given."""
        weight: Tensor = self.weight
        bias: Tensor | None = self.bias
        if order is not None:
            weight = weight.to(x.dtype)[order]
            bias = None if bias is None else bias.to(x.dtype)[order]
        if self.adapter is None:
            return linear(x, weight, bias)
        flat = x.reshape(-1, x.shape[-1])
        result = self.adapter.add_to(linear(flat, weight, bias), flat, order)
        return result.view(*x.shape[:-1], -1)

    @torch.no_grad()
    def merged(self) -> Tensor:
        """Return the weight [out, in], with that of its adapter if there is one."""
        if self.adapter is None:
            return self.weight
        return _merged(self.weight, self.adapter.down, self.adapter.up, self.adapter.scale)


def is_adapter(name: str) -> bool:
    """Return whether a tensor of this name belongs to an adapter."""
    return name.endswith((DOWN, UP))


def add_adapters(blocks: Iterable[nn.Module], lora: LoraSpec) -> None:
    """Give the target layers of these blocks adapters that are not set.

    They are made where the layers' weights are, which may be the meta device.
    """
    for block in blocks:
        for name, layer in _linear_layers(block):
            if name.rpartition(".")[2] in lora.targets:
                with layer.weight.device:
                    layer.adapter = Adapter(layer.in_features, layer.out_features, lora)


@torch.no_grad()
def start_adapters(model: nn.Module, seed: int) -> None:
    """Set new adapters: A from a random stream named after it, B to zero."""
    for path, layer in _linear_layers(model):
        if layer.adapter is not None:
            name = f"{path}{DOWN}"
            generator = torch.Generator().manual_seed(derive(seed, "init", name))
            bound = 1 / math.sqrt(layer.in_features)
            start = torch.empty(layer.adapter.down.shape, device="cpu")
            layer.adapter.down.copy_(start.uniform_(-bound, bound, generator=generator))
            layer.adapter.up.zero_()


def merge_adapters(model: nn.Module) -> None:
    """Add the adapters to the weights that they adapt, and remove them."""
    for _, layer in _linear_layers(model):
        if layer.adapter is not None:
            layer.weight.data.copy_(layer.merged())
            layer.adapter = None


def merged_tensors(tensors: Mapping[str, Tensor], lora: LoraSpec) -> dict[str, Tensor]:
    """Return the tensors of a model with adapters as those of the model without them."""
    merged = {name: tensor for name, tensor in tensors.items() if not is_adapter(name)}
    for name in tensors:
        if name.endswith(DOWN):
            layer = name.removesuffix(DOWN)
            weight = f"{layer}.weight"
            merged[weight] = _merged(merged[weight], tensors[name], tensors[layer + UP], lora.scale)
    return merged


def _merged(weight: Tensor, down: Tensor, up: Tensor, scale: float) -> Tensor:
    return torch.addmm(weight, up, down, alpha=scale)


def _linear_layers(module: nn.Module) -> Iterator[tuple[str, BlockLinear]]:
    for path, layer in list(module.named_modules()):
        if isinstance(layer, BlockLinear):
            yield path, layer

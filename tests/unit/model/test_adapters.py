"""Adapters compute what the dense matrix would, alone have gradients, and can be merged."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from greffe.config.lora import LoraSpec
from greffe.config.sections import ModelSpec
from greffe.inference.inference_base import InferenceBase
from greffe.model.adapters import (
    BlockLinear,
    add_adapters,
    is_adapter,
    merge_adapters,
    merged_tensors,
    start_adapters,
)
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import Model, build_model, empty_model
from greffe.training.optim import freeze_below

VOCAB = 60
ALL = LoraSpec(rank=3, alpha=6.0, targets=("qkv", "out", "expand", "contract"))
PLAIN: dict[str, Any] = {"width": 16, "layers": 2, "heads": 4, "feed_forward": 32, "context": 32}
SHAPES: dict[str, dict[str, Any]] = {
    "rotary": {},
    "post-norm": {"norm": "post", "position": {"kind": "learned"}, "embedding_norm": True},
    "shared keys": {"kv_heads": 2, "gated": True, "norm_kind": "rms", "linear_bias": False},
    "window": {"window": 4, "activation": "gelu_tanh"},
}


def adapted(lora: LoraSpec = ALL, *, seed: int = 0, frozen: int = 0, **choices: Any) -> Model:
    """A model with a head, whose adapters are as if they had been trained."""
    spec = ModelSpec(**{**PLAIN, **choices})
    heads = {"classification": ClassificationHead(classes=3, dropout=0.0)}
    model = build_model(spec, VOCAB, heads, seed)
    add_adapters(model.base.blocks[frozen:], lora)
    start_adapters(model, seed)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if name.endswith("up"):
            parameter.data.normal_(0.0, 0.1, generator=generator)
    freeze_below(model, 0, spec.layers, lora=True)
    return model


def ids() -> Tensor:
    return torch.randint(VOCAB, (3, 12), generator=torch.Generator().manual_seed(1))


def scores(model: Model) -> Tensor:
    lengths = torch.tensor([12, 5, 9])
    result: Tensor = model(ids(), "classification", causal=False, lengths=lengths)
    return result


# --- one layer ------------------------------------------------------------------------------------


def layer(lora: LoraSpec, *, bias: bool = True) -> BlockLinear:
    made = adapted(lora, layers=1, linear_bias=bias).base.blocks[0].attention.qkv
    assert isinstance(made, BlockLinear)
    return made


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("is_ordered", [True, False])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 1e-6), (torch.bfloat16, 2e-2)])
def test_a_layer_computes_the_product_with_the_dense_matrix(
    dtype: torch.dtype, close: float, is_ordered: bool, bias: bool
) -> None:
    made = layer(ALL, bias=bias)
    assert made.adapter is not None
    order = torch.randperm(48, generator=torch.Generator().manual_seed(4)) if is_ordered else None
    x = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(2)).to(dtype)
    weight = made.weight.double() + 2.0 * made.adapter.up.double() @ made.adapter.down.double()
    dense = F.linear(x.double(), weight, None if made.bias is None else made.bias.double())
    found = made(x, order)
    assert found.dtype == dtype and found.shape == (2, 5, 48)
    expected = dense if order is None else dense[..., order]
    torch.testing.assert_close(found.double(), expected, rtol=close, atol=close)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_are_those_of_the_dense_matrix_and_only_of_the_adapter(
    dtype: torch.dtype,
) -> None:
    made = layer(ALL)
    assert made.adapter is not None
    x = torch.randn(7, 16, generator=torch.Generator().manual_seed(2))
    weights = torch.randn(7, 48, generator=torch.Generator().manual_seed(3))
    mine = x.to(dtype).requires_grad_()
    (made(mine) * weights.to(dtype)).sum().backward()
    down, up, exact = (
        tensor.detach().double().requires_grad_()
        for tensor in (made.adapter.down, made.adapter.up, x)
    )
    dense = made.weight.detach().double() + 2.0 * up @ down
    (F.linear(exact, dense) * weights.double()).sum().backward()
    close = {"rtol": 1e-5, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 0.05, "atol": 0.1}
    pairs = ((made.adapter.down, down), (made.adapter.up, up), (mine, exact))
    for found, expected in pairs:
        torch.testing.assert_close(found.grad.double(), expected.grad, **close)
    assert made.weight.grad is None and made.bias.grad is None


def test_a_frozen_matrix_keeps_no_copy_of_its_input() -> None:
    made = layer(ALL)
    x = torch.randn(7, 16, requires_grad=True)
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor
    ):
        made(x)
    rows = [tensor for tensor in kept if len(tensor) == 7]
    assert sorted(tensor.shape[1] for tensor in rows) == [3, 16]
    assert rows[0].data_ptr() == x.data_ptr() or rows[1].data_ptr() == x.data_ptr()


def test_dropout_is_of_the_adapter_alone() -> None:
    made = layer(LoraSpec(rank=3, dropout=0.5))
    x = torch.randn(7, 16)
    assert torch.equal(made.eval()(x), made(x))
    torch.manual_seed(0)
    assert not torch.equal(made.train()(x), made.eval()(x))
    made.adapter.up.data.zero_()
    assert torch.equal(made.train()(x), made.eval()(x))


# --- models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_new_adapters_change_nothing(shape: str) -> None:
    model = adapted(**SHAPES[shape])
    start_adapters(model, seed=5)
    with_adapters = scores(model)
    merge_adapters(model)
    assert not any(is_adapter(name) for name in model.state_dict())
    torch.testing.assert_close(with_adapters, scores(model), rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_merged_model_computes_what_the_adapted_one_did(shape: str) -> None:
    model = adapted(**SHAPES[shape])
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    found = scores(model)
    plain = build_model(model.spec, VOCAB, model.head_specs, seed=0)
    assert (scores(plain) - found).abs().max() > 1e-3
    merge_adapters(model)
    torch.testing.assert_close(scores(model), found, rtol=1e-6, atol=1e-6)
    plain.load_state_dict(merged_tensors(state, ALL))
    assert torch.equal(scores(plain), scores(model))


@pytest.mark.parametrize("shape", SHAPES)
def test_in_bf16_too(shape: str) -> None:
    model = adapted(**SHAPES[shape])
    exact = scores(model)
    model.base.dtype = torch.bfloat16
    found = scores(model).float()
    merge_adapters(model)
    torch.testing.assert_close(found, scores(model).float(), rtol=0.05, atol=0.02)
    torch.testing.assert_close(found, exact, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("int8", [True, False])
def test_a_base_for_inference_has_the_merged_weights(int8: bool) -> None:
    model = adapted()
    with torch.inference_mode():
        found = InferenceBase(model.base, int8=int8)(ids(), causal=False)
        merge_adapters(model)
        expected = InferenceBase(model.base, int8=int8)(ids(), causal=False)
    assert torch.equal(found, expected)


def test_only_adapters_and_heads_have_gradients() -> None:
    model = adapted(LoraSpec(rank=2, targets=("out", "expand")))
    scores(model).sum().backward()
    trained = {name for name, tensor in model.named_parameters() if tensor.grad is not None}
    assert trained == {
        *(
            f"base.blocks.{block}.{layer}.adapter.{part}"
            for block in range(2)
            for layer in ("attention.out", "feed_forward.expand")
            for part in ("down", "up")
        ),
        *(f"heads.classification.{name}" for name in model.heads["classification"].state_dict()),
    }


def test_blocks_that_are_frozen_have_no_adapters() -> None:
    names = [name for name in adapted(frozen=1).state_dict() if is_adapter(name)]
    assert len(names) == 8 and all(name.startswith("base.blocks.1.") for name in names)


def test_adapters_start_from_streams_of_their_own() -> None:
    first, second, other = adapted(), adapted(LoraSpec(rank=3)), adapted(seed=1)
    name = "base.blocks.0.attention.qkv.adapter.down"
    tensors = [model.state_dict()[name] for model in (first, second, other)]
    assert torch.equal(tensors[0], tensors[1]) and not torch.equal(tensors[0], tensors[2])
    assert not torch.equal(tensors[0], first.state_dict()[name.replace("blocks.0", "blocks.1")])
    assert tensors[0].abs().max() <= 16**-0.5


def test_adapters_can_be_added_to_an_empty_model() -> None:
    model = empty_model(ModelSpec(**PLAIN), VOCAB, {})
    add_adapters(model.base.blocks, ALL)
    found = {name for name, tensor in model.named_parameters() if is_adapter(name)}
    assert len(found) == 16
    assert all(tensor.device.type == "meta" for tensor in model.parameters())

"""Choices of a base that other families have: each computes what its definition says."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from greffe.config.families import family_choices
from greffe.config.sections import ModelSpec
from greffe.errors import MismatchError
from greffe.inference.inference_base import InferenceBase
from greffe.model.attention import Cache, build_mask
from greffe.model.formulas import base_formulas, count_parameters
from greffe.model.model import Model, build_model
from greffe.model.parameters import account, default_heads
from greffe.model.weights import check_same_architecture, transfer

VOCAB = 50
SMALL = {"width": 24, "heads": 4, "layers": 3, "feed_forward": 40, "context": 64}
CHOICES: dict[str, dict[str, Any]] = {
    "post-norm with embedding norm": {"norm": "post", "embedding_norm": True},
    "pre-norm with embedding norm": {"embedding_norm": True},
    "narrow embedding": {"embedding_norm": True, "norm": "post", "embedding_width": 12},
    "rms": {"norm_kind": "rms"},
    "no biases": {"linear_bias": False, "norm_bias": False, "head_bias": False},
    "gated gelu": {"gated": True},
    "gated silu": {"gated": True, "activation": "silu", "norm_kind": "rms", "linear_bias": False},
    "shared keys": {"kv_heads": 2},
    "one key": {"kv_heads": 1, "linear_bias": False},
    "window": {"window": 2, "global_every": 2},
    "window with its own rotation": {
        "window": 3,
        "global_every": 3,
        "position": {"kind": "rotary", "base": 1000.0, "local_base": 50.0},
    },
    "window and alibi": {"window": 2, "position": {"kind": "alibi"}},
    "tanh": {"activation": "gelu_tanh"},
    "GPT-2": family_choices("gpt2"),
    "Llama": {**family_choices("llama"), "kv_heads": 2},
    "ModernBERT": {**family_choices("modernbert"), "window": 3},
    "learned positions, narrow": {"position": {"kind": "learned"}, "embedding_width": 16},
}
every_choice = pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES.keys())


def spec_of(choice: dict[str, Any]) -> ModelSpec:
    return ModelSpec.model_validate({**SMALL, **choice})


def model_of(choice: dict[str, Any]) -> Model:
    """A model whose weights are large enough for differences to show."""
    spec = spec_of(choice)
    model = build_model(spec, VOCAB, default_heads(spec), seed=3)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    return model.eval()


@every_choice
def test_formulas_agree_with_counts(choice: dict[str, Any]) -> None:
    spec = spec_of(choice)
    heads = default_heads(spec)
    for row in account(spec, VOCAB, heads).rows:
        assert row.closed == row.counted, row.block
    counted = sum(parameter.numel() for parameter in model_of(choice).parameters())
    assert count_parameters(spec, VOCAB, heads.values()) == counted
    for formula, value in base_formulas(spec, VOCAB).values():
        assert eval(formula.replace("×", "*").replace(",", "")) == value


@every_choice
@pytest.mark.parametrize("causal", [True, False])
def test_padding_changes_nothing(choice: dict[str, Any], causal: bool) -> None:
    model = model_of(choice)
    ids = torch.randint(VOCAB, (1, 9), generator=torch.Generator().manual_seed(1))
    padded = F.pad(ids, (0, 7)).repeat(2, 1)
    with torch.inference_mode():
        alone = model.base(ids, causal=causal)
        beside = model.base(padded, causal=causal, lengths=torch.tensor([9, 16]))
    torch.testing.assert_close(beside[:1, :9], alone, atol=1e-5, rtol=1e-5)


@every_choice
def test_documents_of_a_row_do_not_see_each_other(choice: dict[str, Any]) -> None:
    model = model_of(choice)
    ids = torch.randint(VOCAB, (1, 12), generator=torch.Generator().manual_seed(1))
    documents = torch.tensor([[0] * 5 + [1] * 7])
    with torch.inference_mode():
        packed = model.base(ids, causal=False, documents=documents)
        second = model.base(ids[:, 5:], causal=False)
    torch.testing.assert_close(packed[:, 5:], second, atol=1e-5, rtol=1e-5)


@every_choice
def test_a_cache_changes_nothing(choice: dict[str, Any]) -> None:
    model = model_of(choice)
    ids = torch.randint(VOCAB, (2, 11), generator=torch.Generator().manual_seed(1))
    cache = Cache(model.spec.layers)
    with torch.inference_mode():
        whole = model.base(ids, causal=True)
        parts = [model.base(ids[:, :4], causal=True, cache=cache)]
        parts += [model.base(ids[:, at : at + 1], causal=True, cache=cache) for at in range(4, 11)]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=1e-5)


def relative_error(found: Tensor, truth: Tensor) -> float:
    return float((found.float() - truth).norm() / truth.norm())


@every_choice
@pytest.mark.parametrize("causal", [True, False])
def test_bf16_and_int8_are_close_to_fp32(choice: dict[str, Any], causal: bool) -> None:
    model = model_of(choice)
    ids = torch.randint(VOCAB, (3, 40), generator=torch.Generator().manual_seed(1))
    lengths = torch.tensor([40, 17, 3])
    real = torch.arange(40) < lengths[:, None]
    with torch.inference_mode():
        exact = model.base(ids, causal=causal, lengths=lengths)[real]
        half = InferenceBase(model.base, int8=False)(ids, causal=causal, lengths=lengths)[real]
        quantized = InferenceBase(model.base, int8=True)(ids, causal=causal, lengths=lengths)[real]
        model.base.dtype = torch.bfloat16
        trained = model.base(ids, causal=causal, lengths=lengths)[real]
    assert relative_error(half, exact) < 0.02
    assert relative_error(trained, exact) < 0.02
    assert relative_error(quantized, exact) < 0.06


@every_choice
def test_gradients_in_bf16_are_close_to_fp32(choice: dict[str, Any]) -> None:
    ids = torch.randint(VOCAB, (3, 40), generator=torch.Generator().manual_seed(1))
    aim = torch.randn(3, 40, SMALL["width"], generator=torch.Generator().manual_seed(2))
    found = []
    for dtype in (None, torch.bfloat16):
        model = model_of(choice)
        model.base.dtype = dtype
        hidden = model.base(ids, causal=False, lengths=torch.tensor([40, 17, 3]))
        (hidden.float() * aim).sum().backward()
        gradients = [one.grad.flatten() for one in model.base.parameters() if one.grad is not None]
        found.append(torch.cat(gradients))
    assert relative_error(found[1], found[0]) < 0.03


def test_a_window_hides_what_is_far_away() -> None:
    mask = build_mask(6, causal=False).within(1, torch.arange(6)[None], torch.arange(6)[None])
    assert mask.allowed is not None
    distance = (torch.arange(6)[:, None] - torch.arange(6)).abs()
    assert torch.equal(mask.allowed[0, 0], distance <= 1)


def test_only_blocks_between_global_ones_have_a_window() -> None:
    model = model_of(CHOICES["window"])  # block 1 of 0, 1, 2
    assert [block.is_local for block in model.base.blocks] == [False, True, False]


def test_shared_keys_are_the_same_as_repeated_ones() -> None:
    shared, whole = model_of({"kv_heads": 2, "layers": 1}), model_of({"layers": 1})
    weights = dict(shared.state_dict())
    for name in ("weight", "bias"):
        qkv = weights[f"base.blocks.0.attention.qkv.{name}"]
        queries, keys, values = qkv.split([24, 12, 12])
        rows = [queries]
        for part in (keys, values):
            rows += [
                part.view(2, 6, -1).repeat_interleave(2, dim=0).reshape(24, -1).view_as(queries)
            ]
        weights[f"base.blocks.0.attention.qkv.{name}"] = torch.cat(rows)
    whole.load_state_dict(weights)
    ids = torch.randint(VOCAB, (2, 9))
    with torch.inference_mode():
        found, expected = shared.base(ids, causal=False), whole.base(ids, causal=False)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_a_shorter_context_keeps_the_first_positions() -> None:
    parent = model_of({"position": {"kind": "learned"}})
    spec = spec_of({"position": {"kind": "learned"}, "context": 16})
    own = build_model(spec, VOCAB, {}, seed=1)
    transfer(own, parent.state_dict(), "parent", keep_heads=False)
    assert torch.equal(own.base.position.weight, parent.base.position.weight[:16])
    check_same_architecture(parent.spec, spec, "parent")


def test_another_kind_of_norm_is_another_architecture() -> None:
    with pytest.raises(MismatchError, match="norm_kind"):
        check_same_architecture(spec_of({}), spec_of({"norm_kind": "rms"}), "parent")


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        ({"kv_heads": 3}, "not divisible by kv_heads"),
        ({"window": 4, "global_every": 0}, "global_every"),
        ({"activation": "tanh"}, "relu"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(choice: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        spec_of(choice)

"""Memory of a training: estimated from shapes, compared with what the machine has."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import torch

from greffe.config.recipe_files import load_recipe
from greffe.config.sections import TrainSpec
from greffe.errors import OutOfMemoryError
from greffe.model import memory
from greffe.model.adapters import add_adapters, start_adapters
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.memory import (
    BatchShape,
    MemoryNeed,
    format_bytes,
    require_memory,
    require_training_memory,
    training_need,
    weights_need,
)
from greffe.model.model import build_model, empty_model
from greffe.training.optim import freeze_below

SMALL = load_recipe("small").with_changes(["train.precision=fp32"])
VOCAB = SMALL.tokenizer.vocab
ROWS = BatchShape(rows=16, parts=1, row_tokens=256, predicted=0.15)
Available = Callable[[int | None], None]


@pytest.fixture
def available(monkeypatch: pytest.MonkeyPatch) -> Available:
    """Set the memory that the machine seems to have."""
    return lambda amount: monkeypatch.setattr(memory, "available_memory", lambda: amount)


def need(batch: BatchShape = ROWS, *changes: str, heads: int = 1) -> MemoryNeed:
    recipe = SMALL.with_changes(changes)
    some = [MaskedTokenHead(), NextTokenHead()][:heads]
    return training_need(recipe.model, VOCAB, some, recipe.train, batch)


def test_weights_are_four_bytes_for_each_parameter() -> None:
    heads = {"masked_token": MaskedTokenHead()}
    model = empty_model(SMALL.model, VOCAB, heads)
    size = sum(parameter.numel() * 4 for parameter in model.parameters())
    assert weights_need(SMALL.model, VOCAB, heads.values()) == MemoryNeed(size)
    assert need().weights == size
    assert need().optimizer == 3 * size


@pytest.mark.parametrize("lora", ["", "qkv", "qkv, out", "qkv, out, expand, contract"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_activations_are_at_least_what_autograd_keeps(precision: str, lora: str) -> None:
    """Exactly what a forward pass saves, without the transient tensors of the backward pass."""
    recipe = SMALL.with_changes(
        ["model.width=64", "model.feed_forward=256", f"train.precision={precision}"]
    )
    model = build_model(recipe.model, 300, {}, seed=0).train()
    if lora:
        targets = json.dumps(lora.split(", "))
        recipe = recipe.with_changes(["train.lora.rank=4", f"train.lora.targets={targets}"])
        add_adapters(model.base.blocks, recipe.train.lora)
        start_adapters(model, seed=0)
        freeze_below(model, 0, recipe.model.layers, lora=True)
    model.base.dtype = torch.bfloat16 if precision == "bf16" else None
    kept: dict[int, int] = {}
    alive = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        alive.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model.base(torch.zeros(4, 128, dtype=torch.int64), causal=False)
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    found = sum(size for address, size in kept.items() if address not in weights)
    batch = BatchShape(rows=4, parts=1, row_tokens=128)
    estimate = training_need(recipe.model, 300, [], recipe.train, batch).activations
    assert 0.8 * found < estimate - memory.LIBRARIES < 1.3 * found


def test_auto_is_estimated_as_bf16_which_needs_less() -> None:
    half, auto = need(ROWS, "train.precision=bf16"), need(ROWS, "train.precision=auto")
    assert half == auto
    assert half.weights == need().weights and half.optimizer == need().optimizer
    assert half.activations < 0.7 * need().activations


def test_more_parts_need_less_and_more_rows_more() -> None:
    many = BatchShape(rows=128, parts=1, row_tokens=256, predicted=0.15)
    parts = BatchShape(rows=128, parts=8, row_tokens=256, predicted=0.15)
    assert need().activations < need(many).activations
    assert need().total == pytest.approx(need(parts).total, rel=0.02)


def test_what_takes_more_memory() -> None:
    packed = BatchShape(rows=16, parts=1, row_tokens=256, predicted=0.15, is_packed=True)
    plain = need()
    assert need(packed).total > plain.total
    assert need(ROWS, "model.dropout=0.1").total > plain.total
    assert need(ROWS, "model.position.kind=alibi", "model.heads=64").total > (
        need(ROWS, "model.position.kind=none", "model.heads=64").total
    )
    assert need(ROWS, heads=2).activations > plain.activations


def test_frozen_parameters_have_no_gradient() -> None:
    head = [ClassificationHead(classes=2)]
    batch = BatchShape(rows=16, parts=1, row_tokens=256)

    def trained(freeze: int | str) -> MemoryNeed:
        train = TrainSpec.model_validate({"freeze": freeze, "precision": "fp32"})
        return training_need(SMALL.model, VOCAB, head, train, batch)

    needs = [trained(0), trained(1), trained(3), trained(5), trained("base")]
    assert [each.optimizer for each in needs] == sorted({each.optimizer for each in needs})[::-1]
    assert trained("base").optimizer == 3 * 4 * (2 * SMALL.model.width + 2)
    assert trained("base").activations < trained(0).activations / 4


def test_lora_needs_optimizer_state_for_adapters_and_heads_only() -> None:
    plain, lora = need(), need(ROWS, "train.lora.rank=8")
    width, layers = SMALL.model.width, SMALL.model.layers
    adapters = layers * 8 * (width + 3 * width + width + width)
    [(_, head)] = [MaskedTokenHead().parameters(SMALL.model, VOCAB)]
    assert lora.weights == plain.weights + 4 * adapters
    assert lora.optimizer == 3 * 4 * (adapters + head)
    assert lora.activations < plain.activations
    frozen = need(ROWS, "train.lora.rank=8", "train.freeze=3")
    assert frozen.optimizer < lora.optimizer and frozen.activations < lora.activations


def test_what_does_not_fit_is_refused_with_its_parts(available: Available) -> None:
    amount = MemoryNeed(weights=3 * 10**9, optimizer=10**9, activations=5 * 10**8)
    available(round(memory.CERTAIN * amount.total))
    require_memory(amount, "This training", hint="wait")
    available(None)
    require_memory(amount, "This training", hint="wait")
    available(round(memory.CERTAIN * amount.total) - 1)
    with pytest.raises(OutOfMemoryError, match=r"about 4\.5 GB") as caught:
        require_memory(amount, "This training", hint="wait")
    assert "weights 3.0 GB, optimizer 1.0 GB, activations 500 MB" in caught.value.message
    assert "4.0 GB" in str(caught.value.expected)
    assert caught.value.hint == "wait"


def test_the_hint_is_the_least_accumulation_that_fits(
    available: Available, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "CERTAIN", 1.0)
    batch = BatchShape(rows=96, parts=1, row_tokens=256, predicted=0.15)
    train = SMALL.train.model_copy(update={"batch": 96})
    heads = [MaskedTokenHead()]
    parts = BatchShape(rows=96, parts=6, row_tokens=256, predicted=0.15)
    available(training_need(SMALL.model, VOCAB, heads, train, parts).total)
    with pytest.raises(OutOfMemoryError) as caught:
        require_training_memory(SMALL.model, VOCAB, heads, train, batch)
    assert "train.accumulation=6," in str(caught.value.hint)
    require_training_memory(SMALL.model, VOCAB, heads, train, parts)
    available(10**6)
    with pytest.raises(OutOfMemoryError) as caught:
        require_training_memory(SMALL.model, VOCAB, heads, train, batch)
    assert "smaller model" in str(caught.value.hint)


def test_ranks_on_one_machine_share_its_memory(
    available: Available, monkeypatch: pytest.MonkeyPatch
) -> None:
    available(10**9)
    require_memory(MemoryNeed(6 * 10**8), "This model", hint="wait")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    with pytest.raises(OutOfMemoryError):
        require_memory(MemoryNeed(6 * 10**8), "This model", hint="wait")


def test_amounts_are_easy_to_read() -> None:
    assert format_bytes(0) == "1 MB"
    assert format_bytes(750e6) == "750 MB"
    assert format_bytes(3.2e9) == "3.2 GB"
    assert format_bytes(2.5e13) == "25,000.0 GB"

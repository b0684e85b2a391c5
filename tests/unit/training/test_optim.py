"""Groups of parameters: heights, decay, rates, freezing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from greffe.config.sections import TrainSpec
from greffe.model.adapters import add_adapters, is_adapter, start_adapters
from greffe.training.optim import (
    build_optimizer,
    freeze_below,
    is_decayed,
    level_of,
    lowest_moving_level,
    set_rates,
)

Make = Callable[..., Any]
LAYERS = 3


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("base.embedding.weight", 0),
        ("base.position.weight", 0),
        ("base.blocks.0.attention.qkv.weight", 1),
        ("base.blocks.2.feed_forward.contract.bias", 3),
        ("base.blocks.11.attention.qkv.weight", 12),
        ("base.final_norm.weight", 3),
        ("heads.classification.score.weight", 4),
        ("heads.masked_token.norm.bias", 4),
    ],
)
def test_heights(name: str, level: int) -> None:
    assert level_of(name, LAYERS) == level


def test_each_parameter_is_in_one_group(trainer: Make) -> None:
    made = trainer()
    grouped = [p for group in made.optimizer.param_groups for p in group["params"]]
    assert sorted(map(id, grouped)) == sorted(map(id, made.model.parameters()))


def test_matrices_decay_and_nothing_else(trainer: Make) -> None:
    made = trainer(weight_decay=0.25)
    names = {id(p): name for name, p in made.model.named_parameters()}
    decayed = {
        names[id(p)]
        for group in made.optimizer.param_groups
        if group["weight_decay"]
        for p in group["params"]
    }
    expected = {
        name
        for name, _ in made.model.named_parameters()
        if name.endswith("weight")
        and "norm" not in name
        and not name.startswith(("base.embedding", "base.position"))
    }
    assert decayed == expected and len(decayed) == 4 * LAYERS + 1
    assert {group["weight_decay"] for group in made.optimizer.param_groups} == {0.0, 0.25}
    assert not is_decayed("base.position.weight", torch.nn.Parameter(torch.ones(2, 2)))


def test_decay_is_what_moves_a_matrix_without_gradient(trainer: Make) -> None:
    made = trainer(weight_decay=0.5)
    before = made.weights()
    for parameter in made.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    set_rates(made.optimizer, 0.1)
    made.optimizer.step()
    for name, parameter in made.model.named_parameters():
        factor = 0.95 if is_decayed(name, parameter) else 1.0
        assert torch.allclose(parameter, factor * before[name])


def test_layer_wise_rates_fall_from_the_head_down(trainer: Make) -> None:
    made = trainer(layer_decay=0.5)
    set_rates(made.optimizer, 0.08)
    names = {id(p): name for name, p in made.model.named_parameters()}
    for group in made.optimizer.param_groups:
        for parameter in group["params"]:
            level = level_of(names[id(parameter)], LAYERS)
            assert group["lr"] == pytest.approx(0.08 * 0.5 ** (LAYERS + 1 - level))


def test_layer_wise_rates_are_what_moves_the_tensors(trainer: Make) -> None:
    """Adam's first step is the rate itself: each layer must move half as far as the one above."""
    made = trainer(layer_decay=0.5, lr=0.01, weight_decay=0.0)
    before = made.weights()
    for parameter in made.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    set_rates(made.optimizer, 0.01)
    made.optimizer.step()
    for name, parameter in made.model.named_parameters():
        moved = float((before[name] - parameter.detach()).abs().mean())
        assert moved == pytest.approx(0.01 * 0.5 ** (4 - level_of(name, LAYERS)), rel=1e-2)


def test_the_embedding_alone_can_move_faster(trainer: Make) -> None:
    made = trainer(layer_decay=0.5, embedding_rate=8.0)
    set_rates(made.optimizer, 0.08)
    names = {id(p): name for name, p in made.model.named_parameters()}
    for group in made.optimizer.param_groups:
        for parameter in group["params"]:
            level = level_of(names[id(parameter)], LAYERS)
            times = 8.0 if names[id(parameter)] == "base.embedding.weight" else 1.0
            assert group["lr"] == pytest.approx(0.08 * times * 0.5 ** (LAYERS + 1 - level))


def test_without_layer_decay_all_rates_are_one(trainer: Make) -> None:
    made = trainer(layer_decay=1.0)
    set_rates(made.optimizer, 0.3)
    assert {group["lr"] for group in made.optimizer.param_groups} == {0.3}


@pytest.mark.parametrize(
    ("choices", "levels"),
    [
        ({}, [0, 0, 0]),
        ({"freeze": 1}, [1, 1, 1]),
        ({"freeze": 99}, [4, 4, 4]),
        ({"freeze": "base"}, [4, 4, 4]),
        ({"gradual_unfreezing": True}, [4, 3, 2, 1, 0, 0]),
        ({"gradual_unfreezing": True, "freeze": 2}, [4, 3, 2, 2, 2]),
        ({"gradual_unfreezing": True, "freeze": "base"}, [4, 4, 4]),
    ],
)
def test_what_is_frozen_when(choices: dict[str, Any], levels: list[int]) -> None:
    spec = TrainSpec(**choices)
    assert [lowest_moving_level(spec, LAYERS, epoch) for epoch in range(len(levels))] == levels


def test_freezing_is_by_height_and_can_be_taken_back(trainer: Make) -> None:
    model = trainer().model
    freeze_below(model, 2, LAYERS)
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    assert frozen == {name for name, _ in model.named_parameters() if level_of(name, LAYERS) < 2}
    assert "base.embedding.weight" in frozen and "base.blocks.0.attention.qkv.weight" in frozen
    assert "base.blocks.1.attention.qkv.weight" not in frozen
    freeze_below(model, 0, LAYERS)
    assert all(p.requires_grad for p in model.parameters())


def test_with_lora_only_adapters_and_heads_are_trained(trainer: Make) -> None:
    made = trainer(lora={"rank": 2}, freeze=2, layer_decay=0.5)
    add_adapters(made.model.base.blocks, made.spec.lora)
    start_adapters(made.model, seed=0)
    made.optimizer = build_optimizer(made.model, made.spec, LAYERS)
    before = made.weights()
    made.run(3)
    trained = {
        name
        for name in before
        if level_of(name, LAYERS) >= 2 and (is_adapter(name) or name.startswith("heads."))
    }
    assert made.moved(before) == trained
    names = {parameter: name for name, parameter in made.model.named_parameters()}
    assert {names[parameter] for parameter in made.optimizer.state} == trained
    assert any(name.startswith("base.blocks.1.attention.qkv.adapter.") for name in trained)
    rates = {
        names[parameter]: group["lr"]
        for group in made.optimizer.param_groups
        for parameter in group["params"]
    }
    assert rates["base.blocks.1.attention.qkv.adapter.up"] == pytest.approx(0.01 * 0.25)


def test_the_recipe_reaches_adamw(trainer: Make) -> None:
    made = trainer(betas=(0.5, 0.6), epsilon=1e-4)
    optimizer = build_optimizer(made.model, made.spec, LAYERS)
    assert all(group["betas"] == (0.5, 0.6) for group in optimizer.param_groups)
    assert all(group["eps"] == 1e-4 for group in optimizer.param_groups)

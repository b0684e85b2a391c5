from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from greffe.config.sections import ModelSpec
from greffe.errors import MismatchError
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import build_model
from greffe.model.positions.learned import Learned
from greffe.study.layer_changes import layer_moves


def weights(seed: int = 0, **choices: Any) -> dict[str, Tensor]:
    spec = ModelSpec(**{"width": 8, "layers": 2, "heads": 2, "feed_forward": 16, **choices})
    model = build_model(spec, 20, {"next_token": NextTokenHead(tied=False)}, seed)
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def moved(before: dict[str, Tensor], after: dict[str, Tensor]) -> dict[str, float]:
    return {move.part: move.moved for move in layer_moves(before, after)}


def test_one_norm_over_all_tensors_of_a_part() -> None:
    before = {
        "base.embedding.weight": torch.tensor([[3.0, 4.0]]),
        "base.blocks.0.attention.out.weight": torch.tensor([[3.0]]),
        "base.blocks.0.attention.out.bias": torch.tensor([4.0]),
    }
    after = {
        "base.embedding.weight": torch.tensor([[3.0, 6.0]]),
        "base.blocks.0.attention.out.weight": torch.tensor([[0.0]]),
        "base.blocks.0.attention.out.bias": torch.tensor([8.0]),
    }
    assert [(move.part, move.tensors) for move in layer_moves(before, after)] == [
        ("embedding", 1),
        ("block_1", 2),
    ]
    assert moved(before, after) == pytest.approx({"embedding": 2 / 5, "block_1": 5 / 5})


def test_parts_come_from_the_embedding_up_whatever_the_order_of_the_tensors() -> None:
    state = weights(layers=11, position=Learned())
    shuffled = dict(sorted(state.items(), key=lambda item: item[0][::-1]))
    parts = {move.part: move for move in layer_moves(shuffled, state)}
    blocks = [f"block_{number}" for number in range(1, 12)]
    assert list(parts) == ["embedding", "positions", *blocks, "final_norm"]
    assert {move.moved for move in parts.values()} == {0.0}
    assert [
        parts[name].tensors for name in ("embedding", "positions", "block_11", "final_norm")
    ] == [
        1,
        1,
        12,
        2,
    ]


def test_every_tensor_of_the_base_is_counted_and_no_head() -> None:
    before, after = weights(0), weights(0)
    for name, tensor in after.items():
        if name.startswith("heads."):
            tensor.add_(1.0)
    moves = layer_moves(before, after)
    assert sum(move.tensors for move in moves) == sum(name[0] == "b" for name in before)
    assert {move.moved for move in moves} == {0.0}


def test_only_the_part_that_moved_has_moved() -> None:
    before, after = weights(), weights()
    for name in after:
        if name.startswith("base.blocks.1."):
            after[name] = after[name] * 1.25
    expected = {"embedding": 0.0, "block_1": 0.0, "block_2": 0.25, "final_norm": 0.0}
    assert moved(before, after) == pytest.approx(expected)


def test_post_norm_has_no_final_norm() -> None:
    assert list(moved(weights(norm="post"), weights(1, norm="post"))) == [
        "embedding",
        "block_1",
        "block_2",
    ]


def test_heads_may_differ() -> None:
    before, after = weights(), weights(1)
    after = {name: tensor for name, tensor in after.items() if name.startswith("base.")}
    assert moved(before, after)["embedding"] > 1


def test_small_changes_of_half_precision_weights_are_not_lost() -> None:
    before = {"base.embedding.weight": torch.full((1000, 100), 1.0, dtype=torch.bfloat16)}
    after = {"base.embedding.weight": torch.full((1000, 100), 1.0078125, dtype=torch.bfloat16)}
    assert moved(before, after)["embedding"] == pytest.approx(0.0078125)


@pytest.mark.parametrize("case", ["missing", "shape", "empty", "more"])
def test_two_different_bases_are_an_error_that_names_a_tensor(case: str) -> None:
    before, after = weights(), weights()
    name = "base.blocks.1.attention.out.bias"
    match case:
        case "missing":
            del after[name]
        case "shape":
            after[name] = torch.zeros(9)
        case "empty":
            before, after = {"heads.x": torch.zeros(1)}, {}
        case "more":
            del before[name]
    with pytest.raises(MismatchError) as caught:
        layer_moves(before, after)
    assert ("no base tensor" if case == "empty" else name) in str(caught.value.found)

from __future__ import annotations

import pytest
import torch

from greffe.config.sections import ModelSpec
from greffe.model.attention import build_mask
from greffe.model.layers import Block
from greffe.model.positions.none import NoPosition, NoPositions

torch.set_num_threads(1)

SPEC = ModelSpec(width=8, heads=2, feed_forward=12, position=NoPosition())
POSITIONS = torch.arange(5)[None]
MASK = build_mask(5, causal=False)


def run(block: Block, x: torch.Tensor) -> torch.Tensor:
    return block(x, MASK, NoPositions(), POSITIONS)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_norms_are_where_the_recipe_says(norm, activation):
    torch.manual_seed(0)
    block = Block(SPEC.model_copy(update={"norm": norm, "activation": activation}), 0)
    for parameter in block.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.randn(2, 5, 8)
    first, second = block.attention_norm, block.feed_forward_norm
    act = getattr(torch.nn.functional, activation)

    def attend(y: torch.Tensor) -> torch.Tensor:
        return block.attention(y, MASK, NoPositions(), POSITIONS)

    def feed(y: torch.Tensor) -> torch.Tensor:
        return block.feed_forward.contract(act(block.feed_forward.expand(y)))

    if norm == "pre":
        middle = x + attend(first(x))
        expected = middle + feed(second(middle))
    else:
        middle = first(x + attend(x))
        expected = second(middle + feed(middle))
    torch.testing.assert_close(run(block, x), expected)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dropout_acts_in_training_only(norm):
    block = Block(SPEC.model_copy(update={"norm": norm, "dropout": 0.5}), 0)
    x = torch.randn(2, 5, 8)
    assert not torch.equal(run(block, x), run(block, x))
    block.eval()
    assert torch.equal(run(block, x), run(block, x))

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec
from greffe.model.arithmetic import TRAINING, base_operations, vocabulary_operations
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import build_model

VOCAB = 29


def spec_of(**choices) -> ModelSpec:
    return ModelSpec(
        **{"width": 36, "heads": 3, "layers": 2, "feed_forward": 60, "context": 64, **choices}
    )


def check_count(spec: ModelSpec, head: HeadSpec, rows: int, length: int, *, training: bool) -> None:
    """Our count of a bidirectional pass against what torch counts while it runs."""
    model = build_model(spec, VOCAB, {head.kind: head}, seed=0)
    positions = rows * length
    ids = torch.arange(positions).remainder(VOCAB).view(rows, length)
    # Only written-out attention is made of products that the counter knows on a CPU.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        scores = model(ids, head.kind, causal=False)
        if training:
            scores.sum().backward()
    passes = TRAINING if training else 1
    transform = isinstance(head, MaskedTokenHead)
    ours = passes * (
        base_operations(spec, [length] * rows, causal=False)
        + vocabulary_operations(spec.width, VOCAB, positions, transform=transform)
    )
    # Adding a bias is no product, but a kernel may do it as one more column of its product.
    linear = [module for module in model.base.modules() if isinstance(module, nn.Linear)]
    biases = passes * positions * 2 * sum(layer.out_features for layer in linear)
    assert ours <= counter.get_total_flops() <= ours + biases


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"layers": 3, "feed_forward": 7},
        {"width": 48, "heads": 2, "norm": "post", "activation": "relu"},
        {"position": {"kind": "sinusoidal"}},
        {"layers": 0},
    ],
    ids=str,
)
@pytest.mark.parametrize(("rows", "length"), [(1, 1), (3, 5), (2, 64)])
@pytest.mark.parametrize("head", [NextTokenHead(), MaskedTokenHead()], ids=lambda head: head.kind)
@pytest.mark.parametrize("training", [False, True], ids=["forward", "training"])
def test_a_pass_is_what_torch_counts(choices, rows, length, head, training):
    check_count(spec_of(**choices), head, rows, length, training=training)


def test_causal_attention_by_hand():
    # Width 2, one layer, feed-forward 3, three tokens. Products with weights, a token: queries,
    # keys, values and output 4·2·2 = 16, feed-forward 2·2·3 = 12: 28 multiplications. Tokens look
    # at 1, 2 and 3 keys: 6 pairs with 2 multiplications for the score and 2 for the mix.
    spec = spec_of(width=2, heads=1, layers=1, feed_forward=3)
    assert base_operations(spec, [3], causal=True) == 2 * (3 * 28 + 6 * 4)
    # The other way all 9 pairs count.
    assert base_operations(spec, [3], causal=False) == 2 * (3 * 28 + 9 * 4)


@pytest.mark.parametrize("causal", [True, False])
def test_rows_of_any_lengths_add_up(causal):
    spec = spec_of()
    apart = sum(base_operations(spec, [length], causal=causal) for length in (1, 4, 9))
    assert base_operations(spec, [4, 1, 9], causal=causal) == apart
    assert base_operations(spec, [], causal=causal) == 0


def test_a_vocabulary_by_hand():
    # Width 200, 50,001 tokens, one position: 200 · 50,001 multiplications.
    assert vocabulary_operations(200, 50_001, 1, transform=False) == 20_000_400
    assert vocabulary_operations(200, 50_001, 1, transform=True) == 20_000_400 + 80_000
    assert vocabulary_operations(200, 50_001, 0, transform=True) == 0

from __future__ import annotations

import math

import pytest
import torch

from greffe.config.sections import ModelSpec
from greffe.errors import InputError
from greffe.model.attention import Cache
from greffe.model.base import Base
from greffe.model.positions.learned import Learned
from greffe.model.positions.none import NoPosition
from greffe.model.positions.sinusoidal import Sinusoidal, SinusoidalPositions

torch.set_num_threads(1)

SPEC = ModelSpec(width=8, heads=2, layers=1, feed_forward=12, context=8, position=NoPosition())
IDS = torch.tensor([[3, 1, 4, 1, 5]])


def changed(**values: object) -> ModelSpec:
    return SPEC.model_copy(update=values)


def test_without_layers_the_base_is_embedding_plus_positions():
    base = Base(changed(layers=0, norm="post", position=Sinusoidal(), scale_embedding=True), 10)
    scaled = base.embedding(IDS) * math.sqrt(8)
    expected = SinusoidalPositions(8).embed(scaled, torch.arange(5)[None])
    torch.testing.assert_close(base(IDS, causal=True), expected)


def test_embedding_is_scaled_only_when_asked():
    base = Base(changed(layers=0, norm="post"), 10)
    assert torch.equal(base(IDS, causal=True), base.embedding(IDS))


def test_pre_norm_ends_in_a_norm_and_post_norm_does_not():
    assert isinstance(Base(SPEC, 10).final_norm, torch.nn.LayerNorm)
    assert Base(changed(norm="post"), 10).final_norm is None
    hidden = Base(SPEC, 10)(IDS, causal=False)
    torch.testing.assert_close(hidden.mean(dim=-1), torch.zeros(1, 5), atol=1e-5, rtol=0)


def test_direction_is_the_callers_choice():
    base = Base(SPEC, 10)
    other = IDS.clone()
    other[0, -1] = 9
    assert torch.allclose(base(IDS, causal=True)[:, 0], base(other, causal=True)[:, 0])
    assert not torch.allclose(base(IDS, causal=False)[:, 0], base(other, causal=False)[:, 0])


def test_positions_can_be_given():
    base = Base(changed(position=Sinusoidal()), 10)
    shifted = base(IDS, causal=True, positions=torch.arange(3, 8)[None])
    assert torch.equal(
        base(IDS, causal=True, positions=torch.arange(5)[None]), base(IDS, causal=True)
    )
    assert not torch.allclose(shifted, base(IDS, causal=True))


def test_learned_positions_end_with_the_context_also_through_a_cache():
    base = Base(changed(position=Learned()), 10).eval()
    torch.nn.init.normal_(next(base.position.parameters()))
    cache = Cache(layers=1)
    with torch.no_grad():
        base(IDS, causal=True, cache=cache)
        base(IDS[:, :3], causal=True, cache=cache)
        assert cache.length == 8
        with pytest.raises(InputError, match="longer than the learned positions"):
            base(IDS[:, :1], causal=True, cache=cache)


def test_rows_without_a_single_token_give_no_nan():
    base = Base(SPEC, 10)
    for causal in (False, True):
        hidden = base(IDS.expand(2, -1), causal=causal, lengths=torch.tensor([0, 5]))
        assert hidden.isfinite().all()


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("layers", [0, 1, 2])
def test_chosen_tokens_have_the_hidden_states_of_all_tokens(norm, layers):
    base = Base(changed(norm=norm, layers=layers), 10)
    ids = torch.arange(15).view(3, 5) % 10
    chosen = torch.tensor([0, 4, 7, 14])
    everything = base(ids, causal=False).flatten(0, 1)
    torch.testing.assert_close(base(ids, causal=False, chosen=chosen), everything[chosen])


def test_the_last_feed_forward_layer_reads_chosen_tokens_only():
    base = Base(changed(layers=2), 10)
    seen = []
    for block in base.blocks:
        block.feed_forward.register_forward_pre_hook(
            lambda _, args: seen.append(tuple(args[0].shape))
        )
    base(IDS, causal=False, chosen=torch.tensor([1, 3]))
    assert seen == [(1, 5, 8), (2, 8)]


def test_weights_and_gradients_are_fp32_when_activations_are_bf16():
    base = Base(changed(layers=2), 10)
    base.dtype = torch.bfloat16
    hidden = base(IDS, causal=False)
    hidden.float().sum().backward()
    assert hidden.dtype == torch.bfloat16
    assert {p.dtype for p in base.parameters()} == {torch.float32}
    assert {p.grad.dtype for p in base.parameters()} == {torch.float32}

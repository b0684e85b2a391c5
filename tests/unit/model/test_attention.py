from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.model import attention
from greffe.model.attention import Attention, AttentionMask, LayerCache, build_mask
from greffe.model.base import Base
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import build_model
from greffe.model.positions.alibi import AlibiPositions
from greffe.model.positions.none import NoPositions
from greffe.training.optim import freeze_below

torch.set_num_threads(1)


def visible(mask: AttentionMask, queries: int, keys: int) -> torch.Tensor:
    """The mask as bool [B or 1, queries, keys], whatever path it takes."""
    if mask.is_causal:
        assert mask.allowed is None
        return torch.ones(1, queries, keys, dtype=torch.bool).tril()
    if mask.allowed is None:
        return torch.ones(1, queries, keys, dtype=torch.bool)
    return mask.allowed[:, 0]


def test_fast_paths_build_no_tensor():
    assert build_mask(5, causal=True) == AttentionMask(True, None)
    assert build_mask(5, causal=True, lengths=torch.tensor([2, 5])) == AttentionMask(True, None)
    assert build_mask(5, causal=False) == AttentionMask(False, None)
    assert build_mask(1, causal=True, past=9) == AttentionMask(False, None)


def test_queries_after_a_past_see_all_of_it_and_themselves():
    seen = visible(build_mask(3, causal=True, past=2), 3, 5)[0]
    assert seen.int().tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_real_queries_see_exactly_what_they_may(causal, padded, packed):
    lengths = [6, 4, 1, 0] if padded else None
    documents = [[0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 1, 1], [3, 3, 3, 3, 3, 3], [0, 0, 1, 1, 1, 1]]
    mask = build_mask(
        6,
        causal=causal,
        lengths=torch.tensor(lengths) if padded else None,
        documents=torch.tensor(documents) if packed else None,
    )
    seen = visible(mask, 6, 6).expand(4, 6, 6)
    for row, query, key in itertools.product(range(4), range(6), range(6)):
        length = lengths[row] if lengths else 6
        expected = (
            key < length
            and (not causal or key <= query)
            and (not packed or documents[row][key] == documents[row][query])
        )
        if query < length:
            assert bool(seen[row, query, key]) is expected
    assert seen.any(dim=-1).all(), "a query without any key gives NaN"


def plain_attention(layer, x, seen, bias):
    """One row by the formula: softmax(q k / sqrt(d) + bias) v, head by head."""
    heads, width = layer.heads, x.shape[-1]
    size = width // heads
    q, k, v = layer.qkv(x).split(width, dim=-1)
    mixed = []
    for head in range(heads):
        columns = slice(head * size, (head + 1) * size)
        scores = q[:, columns] @ k[:, columns].T / math.sqrt(size) + bias[head]
        scores = scores.masked_fill(~seen, float("-inf"))
        mixed.append(scores.softmax(dim=-1) @ v[:, columns])
    return layer.out(torch.cat(mixed, dim=-1))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scheme", [NoPositions(), AlibiPositions(heads=3)])
def test_attention_equals_the_formula(causal, scheme):
    torch.manual_seed(0)
    layer = Attention(ModelSpec(width=12, heads=3)).double()
    x = torch.randn(2, 7, 12, dtype=torch.float64)
    positions = torch.arange(7)[None]
    bias = scheme.bias(positions, positions)
    lengths = torch.tensor([7, 4])
    mask = build_mask(7, causal=causal, lengths=lengths)
    result = layer(x, mask.with_bias(bias), scheme, positions)
    for row in range(2):
        length = int(lengths[row])
        seen = visible(mask, 7, 7).expand(2, 7, 7)[row, :length, :length]
        added = torch.zeros(3, 1, 1) if bias is None else bias[0, :, :length, :length]
        expected = plain_attention(layer, x[row, :length], seen, added.double())
        torch.testing.assert_close(result[row, :length], expected)


def test_mask_without_bias_stays_the_same_object():
    mask = build_mask(4, causal=True)
    assert mask.with_bias(None) is mask


def test_layer_cache_keeps_everything_while_it_grows():
    cache = LayerCache(capacity=2)
    keys, values = torch.randn(2, 3, 2, 11, 4)
    for start, stop in [(0, 1), (1, 2), (2, 5), (5, 11)]:
        all_keys, all_values = cache.append(keys[:, :, start:stop], values[:, :, start:stop])
        assert torch.equal(all_keys, keys[:, :, :stop])
        assert torch.equal(all_values, values[:, :, :stop])
    assert cache.length == 11


def test_packed_rows_and_backward_reading_are_never_cached():
    with pytest.raises(AssertionError):
        build_mask(2, causal=False, past=3)
    with pytest.raises(AssertionError):
        build_mask(2, causal=True, past=3, documents=torch.zeros(1, 2))


# --- which kernel runs, and what it is given ----------------------------------------------------

ROWS, COUNT = 3, 24
SPEC = ModelSpec(width=16, heads=2, layers=2, feed_forward=32, context=COUNT)
IDS = torch.arange(ROWS * COUNT).view(ROWS, COUNT) % 50
READINGS = {
    "causal": {"causal": True},
    "causal, padded": {"causal": True, "lengths": torch.tensor([24, 9, 1])},
    "both ways": {"causal": False},
    "both ways, padded": {"causal": False, "lengths": torch.tensor([24, 9, 1])},
    "causal, by documents": {"causal": True, "documents": torch.arange(COUNT)[None] // 7},
    "both ways, by documents": {"causal": False, "documents": torch.arange(COUNT)[None] // 7},
}
MASKS = {
    "both ways, padded": (ROWS, 1, 1, COUNT),
    "causal, by documents": (ROWS, 1, COUNT, COUNT),
    "both ways, by documents": (ROWS, 1, COUNT, COUNT),
}


def reading(name):
    options = dict(READINGS[name])
    if "documents" in options:
        options["documents"] = options["documents"].expand(ROWS, COUNT)
    return options


@pytest.mark.parametrize("name", READINGS)
def test_the_fast_kernel_runs_forward_and_backward(name):
    base = Base(SPEC, vocab=50)
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        base(IDS, **reading(name)).sum().backward()
    counts = {event.key: event.count for event in watched.key_averages()}
    assert counts["aten::_scaled_dot_product_flash_attention_for_cpu"] == 2
    assert counts["aten::_scaled_dot_product_flash_attention_for_cpu_backward"] == 2
    assert "aten::_scaled_dot_product_attention_math" not in counts


@pytest.mark.parametrize("name", READINGS)
def test_a_mask_is_a_tensor_only_where_it_must_be_and_no_larger(name, monkeypatch):
    seen = []
    plain = torch.nn.functional.scaled_dot_product_attention

    def noted(q, k, v, attn_mask, is_causal):
        shape = None if attn_mask is None else tuple(attn_mask.shape)
        seen.append((shape, None if attn_mask is None else attn_mask.dtype, is_causal))
        return plain(q, k, v, attn_mask=attn_mask, is_causal=is_causal)

    monkeypatch.setattr(attention.F, "scaled_dot_product_attention", noted)
    Base(SPEC, vocab=50)(IDS, **reading(name))
    shape = MASKS.get(name)
    is_causal = name in ("causal", "causal, padded")
    assert seen == [(shape, None if shape is None else torch.bool, is_causal)] * 2


@pytest.mark.parametrize("name", READINGS)
def test_bf16_rows_are_read_by_products(name):
    base = Base(SPEC, vocab=50)
    base.dtype = torch.bfloat16
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        base(IDS, **reading(name)).sum().backward()
    counts = {event.key: event.count for event in watched.key_averages()}
    assert counts["aten::bmm"] == 2 * (2 + 4)  # layers: two products forward, four backward
    assert not [key for key in counts if "scaled_dot_product" in key]


@pytest.mark.parametrize("name", READINGS)
def test_long_bf16_rows_are_read_by_the_fused_kernel(name, monkeypatch):
    monkeypatch.setattr(attention, "LONGEST", COUNT - 1)
    base = Base(SPEC, vocab=50)
    base.dtype = torch.bfloat16
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        base(IDS, **reading(name)).sum().backward()
    counts = {event.key: event.count for event in watched.key_averages()}
    assert counts["aten::_scaled_dot_product_flash_attention_for_cpu"] == 2
    assert counts["aten::_scaled_dot_product_flash_attention_for_cpu_backward"] == 2
    assert "aten::_scaled_dot_product_attention_math" not in counts


@pytest.mark.parametrize("kind", PositionSpec.kinds().values())
@pytest.mark.parametrize("name", READINGS)
def test_products_and_the_fused_kernel_agree_in_bf16(name, kind, monkeypatch):
    torch.manual_seed(1)
    base = Base(SPEC.model_copy(update={"position": kind()}), vocab=50)
    for parameter in base.position.parameters():
        torch.nn.init.normal_(parameter)
    exact = base(IDS, **reading(name))
    base.dtype = torch.bfloat16
    by_products = base(IDS, **reading(name))
    monkeypatch.setattr(attention, "LONGEST", 0)
    fused = base(IDS, **reading(name))
    real = slice(None) if "lengths" not in READINGS[name] else 0
    for half in (by_products, fused):
        assert half.dtype == torch.bfloat16
        assert (half - exact)[real].norm() < 0.02 * exact[real].norm()


# --- what a forward pass keeps for its backward -------------------------------------------------


def kept_bytes(level, layers):
    """Memory kept for the backward pass, without parameters, if all below `level` is frozen."""
    spec = SPEC.model_copy(update={"layers": layers, "dropout": 0.1})
    model = build_model(spec, 50, {"classification": ClassificationHead(classes=3)}, seed=0)
    freeze_below(model, level, layers)
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        scores = model(IDS, "classification", causal=False)
    assert scores.requires_grad
    return sum(kept.values())


def test_frozen_layers_keep_nothing_for_the_backward_pass():
    layers = 6
    whole = kept_bytes(0, layers)
    assert kept_bytes(layers + 1, layers) < 0.02 * whole
    assert 0.4 < kept_bytes(layers // 2 + 1, layers) / whole < 0.6
    kept = [kept_bytes(level, layers) for level in range(layers + 2)]
    assert kept == sorted(kept, reverse=True)

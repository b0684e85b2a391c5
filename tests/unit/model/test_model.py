from __future__ import annotations

import math

import pytest
import torch

from greffe.config.components import PositionSpec
from greffe.config.recipe_files import load_recipe
from greffe.config.sections import ModelSpec
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.head import VocabularyHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import blank_model, build_model, empty_model
from greffe.model.parameters import default_heads
from greffe.model.positions.learned import Learned

torch.set_num_threads(1)

POSITION_KINDS = list(PositionSpec.kinds().values())
SPEC = ModelSpec(width=16, heads=4, layers=2, feed_forward=24, context=12)
VOCAB = 50


def changed(**values: object) -> ModelSpec:
    return SPEC.model_copy(update=values)


@pytest.mark.parametrize("kind", default_heads(SPEC))
@pytest.mark.parametrize("position", POSITION_KINDS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_combination_runs_and_every_parameter_of_it_learns(norm, position, kind):
    spec = changed(norm=norm, position=position())
    model = build_model(spec, VOCAB, {kind: default_heads(spec)[kind]}, seed=0)
    ids = torch.randint(VOCAB, (3, 9))
    scores = model(ids, kind, causal=False, lengths=torch.tensor([9, 4, 1]))
    shape = (3, 9) if isinstance(model.heads[kind], VocabularyHead) else (3,)
    assert scores.shape == (*shape, model.head_specs[kind].outputs(VOCAB))
    scores.square().sum().backward()
    unmoved = [
        name
        for name, parameter in model.named_parameters()
        if parameter.grad is None or not parameter.grad.isfinite().all() or not parameter.grad.any()
    ]
    assert unmoved == []


def test_names_of_tensors():
    model = build_model(changed(position=Learned()), VOCAB, default_heads(changed(tied=False)), 0)
    names = set(model.state_dict())
    assert {
        "base.embedding.weight",
        "base.position.weight",
        "base.blocks.0.attention.qkv.weight",
        "base.blocks.1.attention.out.bias",
        "base.blocks.1.feed_forward.expand.weight",
        "base.final_norm.weight",
        "heads.next_token.weight",
        "heads.next_token.bias",
        "heads.masked_token.transform.weight",
        "heads.next_sentence.score.weight",
        "heads.classification.score.weight",
    } <= names
    assert names == {name for name, _ in model.named_parameters()}


def test_same_seed_shares_tensors_by_name_whatever_the_heads():
    heads = default_heads(changed(tied=False))
    whole = build_model(SPEC, VOCAB, heads, seed=5).state_dict()
    for kind, head in heads.items():
        alone = build_model(SPEC, VOCAB, {kind: head}, seed=5).state_dict()
        assert all(torch.equal(tensor, whole[name]) for name, tensor in alone.items())


def test_another_seed_gives_other_matrices_and_no_two_tensors_are_alike():
    one, two = (build_model(SPEC, VOCAB, {}, seed).state_dict() for seed in (1, 2))
    matrices = [name for name, tensor in one.items() if tensor.dim() > 1]
    assert not any(torch.equal(one[name], two[name]) for name in matrices)
    first, second = (one[f"base.blocks.{index}.attention.qkv.weight"] for index in (0, 1))
    assert not torch.equal(first, second)


def test_building_does_not_change_the_global_generator():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    build_model(SPEC, VOCAB, default_heads(SPEC), seed=0)
    assert torch.equal(torch.rand(1), expected)


def test_pre_norm_weights_have_their_sizes():
    spec = ModelSpec(width=128, heads=4, layers=8, feed_forward=256)
    state = build_model(
        spec, 400, {"classification": ClassificationHead(classes=2)}, 0
    ).state_dict()
    sizes = {
        "base.embedding.weight": 0.02,
        "base.blocks.0.attention.qkv.weight": 0.02,
        "base.blocks.0.feed_forward.expand.weight": 0.02,
        "base.blocks.7.attention.out.weight": 0.02 / 4,
        "base.blocks.7.feed_forward.contract.weight": 0.02 / 4,
        "heads.classification.score.weight": 0.02,
    }
    for name, size in sizes.items():
        assert state[name].std().item() == pytest.approx(size, rel=0.15), name
    for name, tensor in state.items():
        if name.endswith("bias"):
            assert not tensor.any(), name
        elif "norm" in name:
            assert torch.equal(tensor, torch.ones_like(tensor)), name


def test_post_norm_weights_are_xavier_and_scaled_embeddings_have_unit_rows():
    spec = ModelSpec(width=64, heads=2, norm="post", scale_embedding=True, feed_forward=64)
    state = build_model(spec, 500, {"next_token": NextTokenHead(tied=False)}, 0).state_dict()
    bound = math.sqrt(6 / (64 + 3 * 64))
    qkv = state["base.blocks.0.attention.qkv.weight"]
    assert bound * 0.98 < qkv.abs().max().item() <= bound
    assert state["base.embedding.weight"].std().item() == pytest.approx(1 / 8, rel=0.05)
    assert state["heads.next_token.weight"].std().item() == pytest.approx(0.02, rel=0.05)


def test_new_models_are_undecided():
    for name in ("tiny", "small"):
        spec = load_recipe(name).model
        model = build_model(spec, 1000, default_heads(spec), seed=0).eval()
        ids = torch.randint(1000, (2, 20))
        with torch.no_grad():
            scores = model(ids, "next_token", causal=True)
        loss = torch.nn.functional.cross_entropy(scores[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        assert loss.item() == pytest.approx(math.log(1000), rel=0.05)


def test_scores_of_one_vector_are_those_of_the_row():
    model = build_model(SPEC, VOCAB, default_heads(SPEC), 0).eval()
    hidden = model.base(torch.randint(VOCAB, (1, 6)), causal=True)
    whole = model.scores(hidden, "next_token")
    torch.testing.assert_close(model.scores(hidden[0, -1], "next_token"), whole[0, -1])
    assert model.vocabulary_head("next_token") is model.heads["next_token"]


def test_empty_models_draw_no_numbers() -> None:
    before = torch.get_rng_state()
    model = empty_model(SPEC, 50, {})
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    blank = blank_model(SPEC, 50, {})
    assert {parameter.device.type for parameter in blank.parameters()} == {"cpu"}
    assert blank.state_dict().keys() == model.state_dict().keys()
    assert torch.equal(torch.get_rng_state(), before)

"""Heads: what every registered one must do, and what each one does."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from pydantic import TypeAdapter

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec, Pooler
from greffe.model.heads.classification_head import Classification, ClassificationHead
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.heads.next_sentence_head import NextSentence
from greffe.model.heads.next_token_head import NextTokenHead

torch.set_num_threads(1)

KINDS = list(HeadSpec.kinds().values())
POOLERS = get_args(Pooler)
WIDTH, VOCAB = 6, 11
EMBEDDING = torch.zeros(VOCAB, WIDTH)


def filled(head: torch.nn.Module) -> torch.nn.Module:
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    return head


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_every_head_has_the_parameters_of_its_formula_and_no_buffers(kind, tied):
    spec = kind.for_model(ModelSpec(tied=tied))
    head = spec.build(WIDTH, VOCAB)
    counted = sum(parameter.numel() for parameter in head.parameters())
    assert counted == spec.parameters(WIDTH, VOCAB)[1] > 0
    assert list(head.buffers()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_head_gives_the_declared_number_of_scores(kind):
    spec = kind.for_model(ModelSpec())
    scores = filled(spec.build(WIDTH, VOCAB))(torch.randn(2, 3, WIDTH), EMBEDDING)
    assert scores.shape[0] == 2
    assert scores.shape[-1] == spec.outputs(VOCAB)


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_with_a_row_per_piece_are_declared(kind):
    head = kind.for_model(ModelSpec(tied=False)).build(WIDTH, VOCAB)
    by_piece = {name for name, tensor in head.state_dict().items() if len(tensor) == VOCAB}
    assert by_piece == set(kind.by_piece)


@pytest.mark.parametrize("kind", KINDS)
def test_every_head_survives_json(kind):
    heads = {"one": kind.for_model(ModelSpec(tied=False))}
    adapter = TypeAdapter(dict[str, HeadSpec])
    assert adapter.validate_json(adapter.dump_json(heads)) == heads


@pytest.mark.parametrize("kind", [NextTokenHead, MaskedTokenHead])
def test_tied_heads_have_a_bias_and_untied_ones_also_a_matrix(kind):
    tied = dict(kind(tied=True).build(WIDTH, VOCAB).named_parameters())
    untied = dict(kind(tied=False).build(WIDTH, VOCAB).named_parameters())
    assert tied["bias"].shape == (VOCAB,)
    assert set(untied) - set(tied) == {"weight"}
    assert untied["weight"].shape == (VOCAB, WIDTH)


@pytest.mark.parametrize("tied", [True, False])
def test_next_token_is_one_linear_layer(tied):
    head = filled(NextTokenHead(tied=tied).build(WIDTH, VOCAB))
    hidden, embedding = torch.randn(2, 3, WIDTH), torch.randn(VOCAB, WIDTH)
    matrix = embedding if tied else head.weight
    assert head.features(hidden) is hidden
    torch.testing.assert_close(head(hidden, embedding), hidden @ matrix.T + head.bias)


def test_masked_token_has_a_layer_before_the_matrix():
    head = filled(MaskedTokenHead().build(WIDTH, VOCAB))
    hidden, embedding = torch.randn(2, 3, WIDTH), torch.randn(VOCAB, WIDTH)
    features = head.norm(torch.nn.functional.gelu(head.transform(hidden)))
    torch.testing.assert_close(head.features(hidden), features)
    weight, bias = head.decoder(embedding)
    torch.testing.assert_close(head(hidden, embedding), features @ weight.T + bias)


def test_tied_scores_send_gradients_to_the_embedding():
    head = filled(NextTokenHead(tied=True).build(WIDTH, VOCAB))
    embedding = torch.randn(VOCAB, WIDTH, requires_grad=True)
    head(torch.randn(2, WIDTH), embedding).square().sum().backward()
    assert embedding.grad is not None
    assert embedding.grad.abs().sum() > 0


def test_next_sentence_reads_the_first_token_only():
    head = filled(NextSentence(WIDTH))
    hidden = torch.randn(4, 3, WIDTH)
    other = hidden.clone()
    other[:, 1:] += 1
    assert head(hidden, EMBEDDING).shape == (4, 2)
    assert torch.equal(head(hidden, EMBEDDING), head(other, EMBEDDING))


@pytest.mark.parametrize("pooler", POOLERS)
def test_empty_rows_give_finite_scores_and_gradients(pooler):
    head = filled(Classification(WIDTH, ClassificationHead(classes=3, pooler=pooler)))
    hidden = torch.randn(2, 4, WIDTH, requires_grad=True)
    scores = head(hidden, EMBEDDING, torch.tensor([0, 4]))
    scores.square().sum().backward()
    assert scores.shape == (2, 3)
    assert scores.isfinite().all()
    assert hidden.grad is not None
    assert hidden.grad.isfinite().all()
    assert hidden.grad[0].abs().sum() == 0


def test_classification_drops_out_in_training_only():
    head = filled(Classification(WIDTH, ClassificationHead(classes=2, dropout=0.5)))
    hidden = torch.randn(8, 3, WIDTH)
    assert not torch.equal(head(hidden, EMBEDDING), head(hidden, EMBEDDING))
    head.eval()
    assert torch.equal(head(hidden, EMBEDDING), head(hidden, EMBEDDING))

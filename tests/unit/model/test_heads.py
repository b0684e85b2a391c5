from __future__ import annotations

from typing import get_args

import pytest
import torch

from greffe.config.classification import Pooler
from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec
from greffe.model.heads.classification import Classification, ClassificationHead
from greffe.model.heads.masked_token import MaskedTokenHead
from greffe.model.heads.next_sentence import NextSentence
from greffe.model.heads.next_token import NextTokenHead
from greffe.model.pooling import pool

torch.set_num_threads(1)

KINDS = list(HeadSpec.kinds().values())
POOLERS = get_args(Pooler)
WIDTH, VOCAB = 6, 11
EMBEDDING = torch.zeros(VOCAB, WIDTH)


def filled(head: torch.nn.Module) -> torch.nn.Module:
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    return head


def sample_spec(kind: type) -> HeadSpec:
    return kind.for_model(ModelSpec())


@pytest.mark.parametrize("kind", KINDS)
def test_every_head_spec_builds_a_head_without_buffers(kind):
    head = sample_spec(kind).build(WIDTH, VOCAB)
    assert sum(parameter.numel() for parameter in head.parameters()) > 0
    assert list(head.buffers()) == []


@pytest.mark.parametrize("kind", [NextTokenHead, MaskedTokenHead])
def test_tied_heads_own_a_bias_and_untied_ones_a_matrix_too(kind):
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


def test_masked_token_has_a_layer_of_its_own_before_the_matrix():
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


def plain_pool(rows: list[list[list[float]]], lengths: list[int], pooler: str) -> list[list[float]]:
    result = []
    for row, length in zip(rows, lengths, strict=True):
        columns = list(zip(*row[:length], strict=True))
        mean = [sum(column) / length for column in columns]
        largest = [max(column) for column in columns]
        choices = {"mean": mean, "max": largest, "mean+max": mean + largest}
        choices |= {"first": row[0], "last": row[length - 1]}
        result.append(choices[pooler])
    return result


@pytest.mark.parametrize("pooler", POOLERS)
def test_poolers_against_plain_python(pooler):
    hidden = torch.randn(4, 7, WIDTH)
    for lengths in ([7, 1, 3, 6], None):
        given = None if lengths is None else torch.tensor(lengths)
        expected = plain_pool(hidden.tolist(), lengths or [7] * 4, pooler)
        torch.testing.assert_close(pool(hidden, given, pooler), torch.tensor(expected))


@pytest.mark.parametrize("pooler", POOLERS)
def test_poolers_never_see_padding(pooler):
    hidden = torch.randn(3, 5, WIDTH)
    lengths = torch.tensor([2, 5, 0])
    spoilt = hidden.clone()
    spoilt[0, 2:] = float("inf")
    spoilt[2] = float("nan")
    pooled = pool(spoilt, lengths, pooler)
    assert torch.equal(pooled, pool(hidden, lengths, pooler))
    assert torch.equal(pooled[2], torch.zeros_like(pooled[2]))


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

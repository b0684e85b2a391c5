"""A table of tokens and pairs: counted once, padding unseen, shares of tokens add up."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch

from greffe.config import ClassificationHead, ModelSpec
from greffe.model.model import build_model
from greffe.model.ngrams import NgramTable

VOCAB, PAIRS, CLASSES = 20, 64, 3
KEPT = [4490, 1631]
"""Rows of two pairs among 1,000 tokens and 4,096 pairs: kept models hold these very rows."""


@pytest.fixture
def table() -> NgramTable:
    made = NgramTable(VOCAB, PAIRS, CLASSES)
    with torch.no_grad():
        made.weight.normal_(generator=torch.Generator().manual_seed(0))
    return made


def by_hand(table: NgramTable, ids: list[int]) -> torch.Tensor:
    """Every different row of the table that the text has, over the root of their number."""
    rows = set(ids)
    for first, second in pairwise(ids):
        rows.add(int(table.pair_rows(torch.tensor(first), torch.tensor(second))))
    return table.weight[sorted(rows)].sum(0) / math.sqrt(len(rows))


def test_scores_are_those_of_the_different_tokens_and_pairs(table):
    texts = [[3, 5, 3, 5, 3, 5, 9], [7], [4, 4, 4, 4]]
    ids = torch.zeros(3, 7, dtype=torch.int64)
    for place, text in enumerate(texts):
        ids[place, : len(text)] = torch.tensor(text)
    scores = table(ids, torch.tensor([7, 1, 4])).sum(1)
    expected = torch.stack([by_hand(table, text) for text in texts])
    torch.testing.assert_close(scores, expected)
    torch.testing.assert_close(table(ids[:1], None).sum(1), expected[:1])


def test_padding_says_nothing_and_an_empty_row_has_no_scores(table):
    ids = torch.randint(0, VOCAB, (2, 6), generator=torch.Generator().manual_seed(1))
    lengths = torch.tensor([4, 0])
    said = table(ids, lengths)
    ids[0, 4:] = 19
    ids[1] = 5
    assert torch.equal(table(ids, lengths), said)
    assert said[0, 4:].abs().sum() == 0
    assert said[1].abs().sum() == 0


def test_a_pair_is_shared_by_its_two_tokens(table):
    ids = torch.tensor([[2, 8]])
    pair = table.weight[table.pair_rows(ids[0, 0], ids[0, 1])]
    expected = torch.stack([table.weight[2] + pair / 2, table.weight[8] + pair / 2])
    torch.testing.assert_close(table(ids, None)[0], expected / math.sqrt(3))


def test_rows_of_pairs_are_spread_and_depend_on_the_order():
    table = NgramTable(1000, 4096, 2)
    first, second = torch.meshgrid(torch.arange(1000), torch.arange(1000), indexing="ij")
    rows = table.pair_rows(first, second)
    counts = torch.bincount(rows.flatten() - 1000, minlength=4096)
    assert rows.min() >= 1000
    assert len(counts) == 4096
    assert counts.float().std() < 3 * math.sqrt(1000 * 1000 / 4096)
    assert (rows != rows.T).float().mean() > 0.99
    assert table.pair_rows(torch.tensor([5, 6]), torch.tensor([6, 5])).tolist() == KEPT


def test_a_new_table_has_no_opinion_and_learns_at_once():
    spec = ModelSpec(width=16, layers=1, heads=2, feed_forward=32, context=16)
    plain = build_model(spec, VOCAB, {"classification": ClassificationHead(classes=2)}, 0)
    head = ClassificationHead(classes=2, ngrams=PAIRS)
    model = build_model(spec, VOCAB, {"classification": head}, 0)
    ids, lengths = torch.randint(0, VOCAB, (4, 9)), torch.tensor([9, 3, 5, 1])
    scores = model(ids, "classification", causal=False, lengths=lengths)
    alone = plain(ids, "classification", causal=False, lengths=lengths)
    torch.testing.assert_close(scores, alone / 2)  # the mean with zeros
    scores.square().sum().backward()
    table = model.get_parameter("heads.classification.ngrams.weight")
    assert table.grad is not None
    assert table.grad.abs().sum() > 0

"""The next-sentence head: two scores from the first token."""

from __future__ import annotations

import torch
from tests.unit.model.heads.filled import EMBEDDING, WIDTH, filled

from greffe.model.heads.next_sentence_head import NextSentence


def test_only_the_first_token_is_read():
    head = filled(NextSentence(WIDTH))
    hidden = torch.randn(4, 3, WIDTH)
    other = hidden.clone()
    other[:, 1:] += 1
    assert head(hidden, EMBEDDING).shape == (4, 2)
    assert torch.equal(head(hidden, EMBEDDING), head(other, EMBEDDING))

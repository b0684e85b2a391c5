"""Vectors of new pieces from old ones, and word vectors rotated into their space."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from greffe.model.embedding_transfer import (
    EMBEDDING,
    add_word_vectors,
    rotation,
    transferred_embeddings,
)


def normal(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_rows_are_means_of_the_old_pieces_and_other_tensors_are_kept() -> None:
    weights = {
        EMBEDDING: normal(4, 3, seed=0),
        "heads.masked_token.bias": normal(4, seed=1),
        "heads.masked_token.transform.weight": normal(4, 4, seed=2),
        "heads.next_token.weight": normal(4, 3, seed=3),
        "base.blocks.0.norm.weight": normal(4, seed=4),
    }
    found = transferred_embeddings(weights, [[2], [0, 1], [3, 3, 0], [1], [1]])
    assert list(found) == list(weights)
    for name in (EMBEDDING, "heads.next_token.weight", "heads.masked_token.bias"):
        old = weights[name]
        expected = torch.stack(
            [old[2], (old[0] + old[1]) / 2, (2 * old[3] + old[0]) / 3, old[1], old[1]]
        )
        torch.testing.assert_close(found[name], expected)
    for name in ("heads.masked_token.transform.weight", "base.blocks.0.norm.weight"):
        assert found[name] is weights[name]


def test_a_rotation_is_found_again() -> None:
    turn, _ = torch.linalg.qr(normal(6, 6, seed=0))
    vectors = normal(50, 6, seed=1)
    found = rotation(vectors, vectors @ turn)
    torch.testing.assert_close(found, turn, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(found @ found.T, torch.eye(6), atol=1e-5, rtol=1e-5)


def test_word_vectors_bring_pieces_nearer_to_where_they_belong() -> None:
    """Old rows are the truth for shared pieces and noise for the others; vectors know all."""
    targets = F.normalize(normal(60, 8, seed=0), dim=1)
    turn, _ = torch.linalg.qr(normal(8, 8, seed=1))
    is_shared = torch.arange(60) < 40
    noise = F.normalize(normal(60, 8, seed=2), dim=1)
    embedding = 3 + 2 * torch.where(is_shared[:, None], targets, noise)
    embedding = torch.cat((embedding, torch.full((2, 8), 7.0)))  # two rows without a vector
    before = embedding.clone()
    assert add_word_vectors(embedding, torch.arange(60), targets @ turn.T, is_shared)
    assert embedding[60:].equal(before[60:])
    centre = before[:40].mean(dim=0)
    near = [F.cosine_similarity(rows[40:60] - centre, targets[40:]) for rows in (before, embedding)]
    assert near[1].mean() > near[0].mean() + 0.4
    kept = F.cosine_similarity(embedding[:40] - centre, before[:40] - centre)
    assert kept.min() > 0.9
    # All rows get the length that shared ones had.
    lengths = (embedding[:60] - centre).norm(dim=1)
    torch.testing.assert_close(
        lengths, (before[:40] - centre).norm(dim=1).mean().expand(60), atol=1e-4, rtol=1e-4
    )


def test_a_table_smaller_than_the_width_gives_vectors_that_still_turn() -> None:
    embedding = normal(40, 8, seed=0)
    before = embedding.clone()
    vectors = F.normalize(normal(40, 5, seed=1), dim=1)
    assert add_word_vectors(embedding, torch.arange(40), vectors, torch.ones(40).bool())
    assert embedding.isfinite().all() and not embedding.equal(before)
    turn = rotation(vectors, before)
    torch.testing.assert_close(turn @ turn.T, torch.eye(5))


def test_too_few_shared_pieces_change_nothing() -> None:
    embedding = normal(20, 8, seed=0)
    before = embedding.clone()
    vectors = F.normalize(normal(20, 8, seed=1), dim=1)
    assert not add_word_vectors(embedding, torch.arange(20), vectors, torch.arange(20) < 15)
    assert embedding.equal(before)

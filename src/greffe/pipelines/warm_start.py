"""Warm start: the embedding of a new base is initialized with word vectors of its corpus."""

from __future__ import annotations

import torch
from torch import Tensor

from greffe.config.recipe import Recipe
from greffe.data.cooccurrence import CooccurrenceCounts, rank_pieces, spread_chunks
from greffe.data.corpus import Corpus
from greffe.model.model import Model
from greffe.model.word_vectors import start_embedding
from greffe.progress import Progress, format_count, notice
from greffe.training.distributed import World


def warm_start(model: Model, text: Corpus, recipe: Recipe, world: World) -> None:
    """Initialize the embedding as the recipe says, the same on every rank."""
    match recipe.warm_start:
        case "none":
            return
        case "word_vectors":
            # One rank alone: the table is large, and processors may round in different ways.
            if world.is_main:
                _count_and_start(model, text, recipe.seed)
            world.broadcast_tensor(model.base.embedding.weight.data)


def _count_and_start(model: Model, text: Corpus, seed: int) -> None:
    pieces, counts, total = count_neighbours(text)
    started = start_embedding(model, pieces, counts, seed)
    notice(
        f"word vectors: {started:,} of {text.tokenizer.size:,} pieces initialized from "
        f"{format_count(total)} tokens"
    )


def count_neighbours(text: Corpus) -> tuple[Tensor, Tensor, int]:
    """Return the pieces that occur, their counts [pieces, contexts], and the number of tokens."""
    part, tokenizer = text.train, text.tokenizer
    chunks = spread_chunks(part.tokens)
    total = sum(map(len, chunks))
    pieces = rank_pieces(part, chunks, tokenizer.size, tokenizer.specials)
    neighbours = CooccurrenceCounts(pieces, tokenizer.size)
    with Progress("word vectors", total, "tokens") as progress:
        for chunk in chunks:
            neighbours.add(part, chunk)
            progress.advance(len(chunk))
    counts = torch.from_numpy(neighbours.finish())
    # The factorization is one call into a library, which reports no progress.
    notice("word vectors: factorizing a matrix of {:,} × {:,} pieces".format(*counts.shape))
    return torch.from_numpy(pieces), counts, total

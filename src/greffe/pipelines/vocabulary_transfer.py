"""Vocabulary transfer: a parent's weights for the vocabulary of another text.

The blocks stay as they are. Pieces that both vocabularies have keep their vectors; the others start
as the mean of the old pieces that make them up. If the recipe warm-starts with word vectors, those
of the new text are rotated into the parent's space and mixed in.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from greffe.config.recipe import Recipe
from greffe.data.corpus import Corpus
from greffe.data.piece_mapping import map_pieces, shared_pieces
from greffe.model.embedding_transfer import add_word_vectors, transferred_embeddings
from greffe.model.memory import FLOAT, format_bytes
from greffe.model.model import Model
from greffe.model.weights import Transfer, transfer
from greffe.model.word_vectors import word_vectors
from greffe.pipelines.warm_start import count_neighbours
from greffe.progress import notice
from greffe.run import RunDirectory
from greffe.training.checkpoint import load_tokenizer, run_weights
from greffe.training.distributed import World


def transfer_vocabulary(
    model: Model,
    parent: RunDirectory,
    text: Corpus,
    recipe: Recipe,
    world: World,
    *,
    is_new: bool,
) -> tuple[Transfer, str]:
    """Load the parent's weights into a model with the text's vocabulary.

    Return what was taken over, and the hash of the parent's weights. Word vectors are counted for
    a new run only: a resumed run has its embedding already.
    """
    weights, digest = run_weights(parent)
    old, new = load_tokenizer(parent), text.tokenizer
    spellings = map_pieces(new, old)
    shared = torch.tensor(shared_pieces(new, old, spellings))
    transferred = transferred_embeddings(weights, spellings)
    taken = transfer(model, transferred, parent.name, keep_heads=True)
    notice(
        f"vocabulary transfer: {old.size:,} pieces of {parent.name} → {new.size:,} pieces of this "
        f"text; {int(shared.sum()):,} are in both, the others start as a mean of old pieces; "
        f"{_sizes(weights, transferred)}"
    )
    if is_new and recipe.warm_start == "word_vectors":
        # On one rank alone, as in a warm start.
        if world.is_main:
            _mix_word_vectors(model, text, shared, recipe.seed)
        world.broadcast_tensor(model.base.embedding.weight.data)
    return taken, digest


def _sizes(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> str:
    """Return the size of the weights before and after, and what was saved."""
    old, new = (FLOAT * sum(map(Tensor.numel, weights.values())) for weights in (before, after))
    change = f"the weights go from {format_bytes(old)} to {format_bytes(new)}"
    return f"{change}, {format_bytes(old - new)} saved" if new < old else change


def _mix_word_vectors(model: Model, text: Corpus, shared: Tensor, seed: int) -> None:
    pieces, counts, _ = count_neighbours(text)
    is_known, vectors = word_vectors(counts, model.spec.token_width, seed)
    pieces = pieces[is_known]
    if add_word_vectors(model.base.embedding.weight, pieces, vectors, shared[pieces]):
        notice(f"word vectors: mixed into {len(pieces):,} of {text.tokenizer.size:,} pieces")
    else:
        notice("word vectors: left out, too few pieces are in both vocabularies to align them")

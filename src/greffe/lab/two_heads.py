"""Question 2: one base, two heads: shapes, first losses, and what each says to one sentence.

Everything is read off real models, never from a formula. Knows no words for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from greffe.api import Run
from greffe.config.components import HeadSpec
from greffe.config.recipe import Recipe
from greffe.data.pieces import SPACE
from greffe.data.tokenizer import Tokenizer
from greffe.inference.forward import evaluation_mode
from greffe.lab.lab_document import Heads, HeadShapes, NextWords, TwoAnswers, Untrained
from greffe.model.heads.classification import ClassificationHead
from greffe.model.heads.next_token import NextTokenHead
from greffe.model.model import Model, build_model

SENTENCE = "Bonjour les amis, ce roman est magnifique."
EXPECTED = 3
"""Words shown for each place."""
PLACES = 6
"""Places at which the language model is asked."""


def examine_heads(recipe: Recipe, causal: Run, classifier: Run, sentence: str = SENTENCE) -> Heads:
    """A fresh model of the recipe for shapes and first losses, two trained ones for answers."""
    classes = len(classifier.labels)
    heads: dict[str, HeadSpec] = {
        "next_token": NextTokenHead(tied=recipe.model.tied),
        "classification": ClassificationHead(classes=classes, pooler="last"),
    }
    vocab = max(recipe.tokenizer.vocab, causal.tokenizer.size)
    model = build_model(recipe.model, vocab, heads, recipe.seed)
    ids = _ids(causal.tokenizer, sentence)
    return Heads(
        shapes=head_shapes(model, ids, recipe.name),
        untrained=first_losses(model, ids),
        answers=two_answers(causal, classifier, sentence),
    )


def head_shapes(model: Model, ids: Tensor, name: str) -> HeadShapes:
    """What goes in and comes out of base and heads for ids [1, T]."""
    with evaluation_mode(model):
        hidden = model.base(ids, causal=True)
        catalog = model.scores(hidden, "next_token")
        classes = model.scores(hidden, "classification")
    decoder, _ = model.vocabulary_head("next_token").decoder(model.base.embedding.weight)
    targets = _next_ids(ids)
    return HeadShapes(
        recipe=name,
        tokens=ids.shape[1],
        vocab=model.vocab,
        classes=classes.shape[-1],
        ids=list(ids.shape),
        hidden=list(hidden.shape),
        next_token_weight=list(decoder.shape),
        next_token_scores=list(catalog.shape),
        next_token_targets=list(targets.shape),
        next_token_parameters=_count(model, "next_token"),
        classification_weight=list(_weight(model).shape),
        classification_scores=list(classes.shape),
        classification_targets=[len(ids)],
        classification_parameters=_count(model, "classification"),
    )


def first_losses(model: Model, ids: Tensor) -> Untrained:
    """Losses of both heads before the first step, beside those of even guesses."""
    with evaluation_mode(model):
        hidden = model.base(ids, causal=True)
        catalog = model.scores(hidden, "next_token")[:, :-1]
        classes = model.scores(hidden, "classification")
        # Whatever the label is, a head that knows nothing should lose about as much.
        each = torch.arange(classes.shape[-1])
        of_class = F.cross_entropy(classes.expand(len(each), -1), each)
        of_word = F.cross_entropy(catalog.flatten(0, 1), _next_ids(ids).flatten())
    return Untrained(
        next_token=float(of_word),
        next_token_guess=math.log(model.vocab),
        classification=float(of_class),
        classification_guess=math.log(classes.shape[-1]),
    )


def two_answers(causal: Run, classifier: Run, sentence: str) -> TwoAnswers:
    """What a trained language model expects after each piece, and the classes of the whole."""
    tokenizer = causal.tokenizer
    ids = _ids(tokenizer, sentence)
    with evaluation_mode(causal.model):
        shares = causal.model(ids, "next_token", causal=True)[0].softmax(dim=-1)  # [T, vocab]
    row = ids[0].tolist()
    pieces = [_shown(tokenizer, number) for number in row]
    # The last piece is <eos>: nothing comes after it.
    chosen = _spread(len(row) - 1, PLACES)
    prediction = classifier.predict(sentence)[0]
    return TwoAnswers(
        sentence=sentence,
        pieces=pieces,
        next_words=[
            NextWords(piece=pieces[place], expected=_likeliest(tokenizer, shares[place]))
            for place in chosen
        ],
        classes=list(prediction.probabilities.items()),
    )


def _ids(tokenizer: Tokenizer, sentence: str) -> Tensor:
    return torch.from_numpy(tokenizer.wrap(tokenizer.encode(sentence)))[None]  # [1, T]


def _next_ids(ids: Tensor) -> Tensor:
    return ids[:, 1:]


def _weight(model: Model) -> Tensor:
    score = model.heads["classification"].score
    assert isinstance(score, torch.nn.Linear)
    return score.weight


def _count(model: Model, kind: str) -> int:
    return sum(parameter.numel() for parameter in model.heads[kind].parameters())


def _likeliest(tokenizer: Tokenizer, shares: Tensor) -> list[tuple[str, float]]:
    best = shares.topk(EXPECTED)
    return [
        (_shown(tokenizer, int(number)), float(share))
        for number, share in zip(best.indices, best.values, strict=True)
    ]


def _shown(tokenizer: Tokenizer, number: int) -> str:
    """A piece as people write it: the space before a word is left out."""
    piece = tokenizer.piece(number)
    return piece.removeprefix(SPACE) or piece


def _spread(count: int, most: int) -> Sequence[int]:
    if count <= most:
        return range(count)
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]

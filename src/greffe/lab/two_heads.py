"""Question 2: one base, two heads: shapes, first losses, and predictions for one sentence.

Everything is read from real models, nothing from a formula. Knows no texts of the page.
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
from greffe.data.tokenizer import Tokenizer
from greffe.inference.forward import evaluation_mode
from greffe.lab.lab_document import Heads, HeadShapes, NextWords, TwoAnswers, Untrained
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model, build_model

SENTENCE = "Bonjour les amis, ce roman est magnifique."
EXPECTED = 3
"""Pieces shown for each position."""
POSITIONS = 6
"""Positions at which the language model predicts."""


def examine_heads(recipe: Recipe, causal: Run, classifier: Run, sentence: str = SENTENCE) -> Heads:
    """Return shapes and first losses of a new model, and predictions of two trained ones."""
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
    """Return the shapes of the inputs and outputs of base and heads for ids [1, T]."""
    with evaluation_mode(model):
        hidden = model.base(ids, causal=True)
        vocabulary = model.scores(hidden, "next_token")
        classes = model.scores(hidden, "classification")
    decoder, _ = model.vocabulary_head("next_token").decoder(model.base.embedding.weight)
    score = model.heads["classification"].score
    assert isinstance(score, torch.nn.Linear)
    return HeadShapes(
        recipe=name,
        tokens=ids.shape[1],
        vocab=model.vocab,
        classes=classes.shape[-1],
        ids=list(ids.shape),
        hidden=list(hidden.shape),
        next_token_weight=list(decoder.shape),
        next_token_scores=list(vocabulary.shape),
        next_token_targets=list(ids[:, 1:].shape),
        next_token_parameters=_count(model, "next_token"),
        classification_weight=list(score.weight.shape),
        classification_scores=list(classes.shape),
        classification_targets=[len(ids)],
        classification_parameters=_count(model, "classification"),
    )


def first_losses(model: Model, ids: Tensor) -> Untrained:
    """Return the losses of both heads before the first step, and those of uniform guesses."""
    with evaluation_mode(model):
        hidden = model.base(ids, causal=True)
        vocabulary = model.scores(hidden, "next_token")[:, :-1]
        classes = model.scores(hidden, "classification")
        # The mean over all labels: an untrained head should do about as well on each.
        each = torch.arange(classes.shape[-1])
        of_class = F.cross_entropy(classes.expand(len(each), -1), each)
        of_word = F.cross_entropy(vocabulary.flatten(0, 1), ids[:, 1:].flatten())
    return Untrained(
        next_token=float(of_word),
        next_token_guess=math.log(model.vocab),
        classification=float(of_class),
        classification_guess=math.log(classes.shape[-1]),
    )


def two_answers(causal: Run, classifier: Run, sentence: str) -> TwoAnswers:
    """Return the most likely next pieces after each piece, and the class probabilities."""
    tokenizer = causal.tokenizer
    ids = _ids(tokenizer, sentence)
    with evaluation_mode(causal.model):
        scores = causal.model(ids, "next_token", causal=True)[0]
        probabilities = scores.softmax(dim=-1)  # [T, vocab]
    row = ids[0].tolist()
    pieces = [_piece(tokenizer, number) for number in row]
    # The last piece is <eos>: nothing comes after it.
    chosen = _spread(len(row) - 1, POSITIONS)
    prediction = classifier.predict(sentence)[0]
    return TwoAnswers(
        sentence=sentence,
        pieces=pieces,
        next_words=[
            NextWords(
                piece=pieces[position], expected=_likeliest(tokenizer, probabilities[position])
            )
            for position in chosen
        ],
        classes=list(prediction.probabilities.items()),
    )


def _ids(tokenizer: Tokenizer, sentence: str) -> Tensor:
    return torch.from_numpy(tokenizer.wrap(tokenizer.encode(sentence)))[None]  # [1, T]


def _count(model: Model, kind: str) -> int:
    return sum(parameter.numel() for parameter in model.heads[kind].parameters())


def _likeliest(tokenizer: Tokenizer, probabilities: Tensor) -> list[tuple[str, float]]:
    best = probabilities.topk(EXPECTED)
    return [
        (_piece(tokenizer, int(number)), float(probability))
        for number, probability in zip(best.indices, best.values, strict=True)
    ]


def _piece(tokenizer: Tokenizer, number: int) -> str:
    """Return a piece without the space before a word."""
    text = tokenizer.text_of(number)
    return (text and text.strip()) or tokenizer.piece(number)


def _spread(count: int, most: int) -> Sequence[int]:
    if count <= most:
        return range(count)
    return [round(index * (count - 1) / (most - 1)) for index in range(most)]

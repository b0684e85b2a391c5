"""Question 1, the positions: what small models can do without them, on two tasks.

Which of two words comes first: a bidirectional model sees a bag of words and can only guess, while
the square mask alone carries some information about order. A language in which the next word
depends on the last two, in their order: there the mask alone is not enough.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from greffe.config.components import Direction
from greffe.config.sections import Classification
from greffe.evaluation.intervals import crossed_estimate, seeds_estimate
from greffe.lab.lab_document import ChainArm, ChainTask, OrderArm, OrderTask
from greffe.lab.tasks import (
    BATCH,
    PREDICTIONS,
    NextWord,
    TaskSize,
    best_bits,
    drawn,
    fit,
    language_rows,
    tiny_model,
)
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.objectives.classification import ClassificationObjective
from greffe.progress import Progress
from greffe.samples.toy import MarkovLanguage
from greffe.seeding import rng

TOKENS, VOCABULARY = 12, 16
FIRST, SECOND = 0, 1
"""The two marked words; all others are neutral."""
ORDER_TEXTS = 500
READINGS: tuple[Direction, ...] = ("bidirectional", "causal")

CHAIN_WORDS, CHAIN_FOLLOWERS, CHAIN_LENGTH = 8, 2, 17


# --- which comes first --------------------------------------------------------------------------


def order_task(size: TaskSize, progress: Progress) -> OrderTask:
    """Train causal and bidirectional models with and without positions, with all seeds."""
    return OrderTask(
        tokens=TOKENS,
        steps=size.order_steps,
        seeds=size.seeds,
        texts=ORDER_TEXTS,
        arms=[
            _order_arm(reading, has_positions, size, progress)
            for reading in READINGS
            for has_positions in (True, False)
        ],
    )


def _order_arm(
    reading: Direction, has_positions: bool, size: TaskSize, progress: Progress
) -> OrderArm:
    right = [
        _right(reading, has_positions, size.order_steps, seed, progress)
        for seed in range(size.seeds)
    ]
    return OrderArm(
        reading=reading,
        has_positions=has_positions,
        accuracy=crossed_estimate(np.stack(right), bounds=(0.0, 1.0)),
    )


def _right(
    reading: Direction, has_positions: bool, steps: int, seed: int, progress: Progress
) -> npt.NDArray[np.float64]:
    """Return which test texts a trained classifier gets right [ORDER_TEXTS]."""
    causal = reading == "causal"
    # The mean over tokens ignores order: whatever order is found, the base has found it.
    heads = {"classification": ClassificationHead(classes=2, pooler="mean")}
    model = tiny_model(VOCABULARY, TOKENS, heads, seed, has_positions=has_positions)
    task = ClassificationObjective(Classification(), [1, 1], causal=causal, pad=SECOND)
    for _ in fit(
        model,
        task,
        lambda step: task.prepare(*ordered_rows(rng(seed, "lab order", step), 2 * BATCH)),
        steps=steps,
        seed=seed,
        lr=3e-3,
    ):
        progress.advance(1)
    rows, labels = ordered_rows(rng(0, "lab order test"), ORDER_TEXTS)
    model.eval()
    with torch.no_grad():
        predicted = model(torch.from_numpy(np.stack(rows)), "classification", causal=causal).argmax(
            1
        )
    right: npt.NDArray[np.float64] = np.equal(predicted.numpy(), labels).astype(np.float64)
    return right


def ordered_rows(
    random: np.random.Generator, count: int
) -> tuple[list[npt.NDArray[np.int64]], list[int]]:
    """Return rows of neutral words with both marked words; label 1 means FIRST comes first."""
    rows = random.integers(SECOND + 1, VOCABULARY, size=(count, TOKENS))
    positions = np.sort(
        random.permuted(np.tile(np.arange(TOKENS), (count, 1)), axis=1)[:, :2], axis=1
    )
    labels = random.permutation(np.arange(count) % 2)
    each = np.arange(count)
    rows[each, positions[:, 0]] = np.where(labels == 1, FIRST, SECOND)
    rows[each, positions[:, 1]] = np.where(labels == 1, SECOND, FIRST)
    return list(rows), labels.tolist()


# --- the last two words -------------------------------------------------------------------------


def chain_task(size: TaskSize, progress: Progress) -> ChainTask:
    """Train a causal language model with and without positions, with all seeds."""
    language = MarkovLanguage(0, words=CHAIN_WORDS, order=2, branching=CHAIN_FOLLOWERS)
    rows = language_rows(language, size.rows, CHAIN_LENGTH, seed=1)
    test = language_rows(language, size.test_rows, CHAIN_LENGTH, seed=2)
    return ChainTask(
        words=CHAIN_WORDS,
        best_bits=best_bits(language, test),
        last_word_bits=last_word_entropy(language),
        blind_bits=math.log2(CHAIN_WORDS),
        steps=size.chain_steps,
        seeds=size.seeds,
        arms=[
            ChainArm(
                has_positions=has_positions,
                bits=seeds_estimate(
                    [
                        _chain_bits(rows, test, has_positions, size.chain_steps, seed, progress)
                        for seed in range(size.seeds)
                    ],
                    (0.0, math.inf),
                ),
            )
            for has_positions in (True, False)
        ],
    )


def _chain_bits(
    rows: Tensor, test: Tensor, has_positions: bool, steps: int, seed: int, progress: Progress
) -> float:
    heads = {PREDICTIONS: NextTokenHead(tied=False)}
    model = tiny_model(CHAIN_WORDS, CHAIN_LENGTH, heads, seed, has_positions=has_positions)
    task = NextWord(causal=True)
    for _ in fit(
        model, task, lambda step: task.prepare(drawn(rows, seed, step)), steps=steps, seed=seed
    ):
        progress.advance(1)
    return task.bits(model, test)


def last_word_entropy(language: MarkovLanguage) -> float:
    """Return bits per word of a language of order 2 when only the last word is known."""
    words = len(language.words)
    # [word before, last word, next word] → [last word, next word]
    probabilities = language.stationary[:, None] * language.next_word
    pairs = probabilities.reshape(words, words, words).sum(axis=0)
    lasts = pairs.sum(axis=1, keepdims=True)
    return float(-(pairs * np.log2(pairs / lasts)).sum())

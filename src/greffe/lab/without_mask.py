"""Question 1, the square mask: a small language model trained with and without it.

Without the mask the next word is visible: the training loss falls below the entropy of the
language, and the model learns nothing that helps when the next word is unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean

import torch
import torch.nn.functional as F
from torch import Tensor

from greffe.evaluation.intervals import seeds_estimate
from greffe.lab.lab_document import CurvePoint, MaskArm, MaskTask
from greffe.lab.tasks import (
    PREDICTIONS,
    NextWord,
    TaskSize,
    best_bits,
    drawn,
    fit,
    language_rows,
    tiny_model,
)
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model
from greffe.progress import Progress
from greffe.samples.toy import MarkovLanguage
from greffe.seeding import derive

WORDS, FOLLOWERS = 24, 3
LENGTH = 17
CURVE_POINTS = 40


@dataclass(frozen=True)
class _Trained:
    """One seed of an arm."""

    losses: list[float]
    whole_bits: float
    past_bits: float
    possible: float
    written: str


def mask_task(size: TaskSize, progress: Progress) -> MaskTask:
    """Train both arms with all seeds; `progress` counts steps."""
    language = MarkovLanguage(0, words=WORDS, branching=FOLLOWERS)
    rows = language_rows(language, size.rows, LENGTH, seed=1)
    test = language_rows(language, size.test_rows, LENGTH, seed=2)
    return MaskTask(
        words=WORDS,
        followers=FOLLOWERS,
        best_bits=best_bits(language, test),
        blind_bits=math.log2(WORDS),
        steps=size.mask_steps,
        seeds=size.seeds,
        arms=[
            _arm(
                has_mask,
                [
                    _train(language, rows, test, has_mask, size.mask_steps, seed, progress)
                    for seed in range(size.seeds)
                ],
            )
            for has_mask in (True, False)
        ],
    )


def _train(
    language: MarkovLanguage,
    rows: Tensor,
    test: Tensor,
    has_mask: bool,
    steps: int,
    seed: int,
    progress: Progress,
) -> _Trained:
    heads = {PREDICTIONS: NextTokenHead(tied=False)}
    model = tiny_model(WORDS, LENGTH, heads, seed)
    task = NextWord(causal=has_mask)
    losses = []
    for loss in fit(
        model, task, lambda step: task.prepare(drawn(rows, seed, step)), steps=steps, seed=seed
    ):
        losses.append(loss / math.log(2))
        progress.advance(1)
    model.eval()
    written = generate_rows(model, test[:, :1], LENGTH - 1, causal=has_mask, seed=seed)
    return _Trained(
        losses,
        whole_bits=task.bits(model, test),
        past_bits=past_bits(model, test, causal=has_mask),
        possible=possible_fraction(language, written),
        written=" ".join(language.words[int(word)] for word in written[0]),
    )


@torch.no_grad()
def past_bits(model: Model, rows: Tensor, *, causal: bool) -> float:
    """Return mean bits per word of rows [B, T], each word predicted from those before it."""
    losses = [
        float(F.cross_entropy(_next_scores(model, rows[:, :position], causal), rows[:, position]))
        for position in range(1, rows.shape[1])
    ]
    return fmean(losses) / math.log(2)


@torch.no_grad()
def generate_rows(model: Model, rows: Tensor, count: int, *, causal: bool, seed: int) -> Tensor:
    """Return rows [B, T] with `count` more words each, sampled one by one from the model."""
    generator = torch.Generator().manual_seed(derive(seed, "lab writing"))
    for _ in range(count):
        probabilities = _next_scores(model, rows, causal).softmax(dim=-1)
        rows = torch.cat((rows, torch.multinomial(probabilities, 1, generator=generator)), dim=1)
    return rows


def possible_fraction(language: MarkovLanguage, rows: Tensor) -> float:
    """Return the fraction of words that the language allows after the word before."""
    # Every word has a small probability; allowed followers have more.
    probabilities = torch.from_numpy(language.next_word)[rows[:, :-1], rows[:, 1:]]
    return float((probabilities > language.next_word.min() + 1e-9).double().mean())


def _next_scores(model: Model, past: Tensor, causal: bool) -> Tensor:
    """Return scores [B, vocab] for the word after the past [B, T]."""
    scores: Tensor = model(past, PREDICTIONS, causal=causal)[:, -1]
    return scores


def _arm(has_mask: bool, seeds: list[_Trained]) -> MaskArm:
    return MaskArm(
        has_mask=has_mask,
        curve=_curve([seed.losses for seed in seeds]),
        whole_bits=seeds_estimate([seed.whole_bits for seed in seeds], (0.0, math.inf)),
        past_bits=seeds_estimate([seed.past_bits for seed in seeds], (0.0, math.inf)),
        possible=seeds_estimate([seed.possible for seed in seeds], (0.0, 1.0)),
        written=seeds[0].written,
    )


def _curve(losses: list[list[float]]) -> list[CurvePoint]:
    """Return means over windows of steps, with intervals over seeds."""
    steps = len(losses[0])
    window = max(1, steps // CURVE_POINTS)
    points = []
    for end in range(window, steps + 1, window):
        estimate = seeds_estimate([fmean(seed[end - window : end]) for seed in losses])
        points.append(
            CurvePoint(step=end, mean=estimate.mean, low=max(0.0, estimate.low), high=estimate.high)
        )
    return points

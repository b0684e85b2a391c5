"""Autosize: a recipe for the time, the text and the machine.

The rule comes from the experiments in docs/experiments. Knows no files; the machine's speed is
measured in speed_test.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from greffe.config.components import ObjectiveSpec
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.model.arithmetic import TRAINING, base_operations, vocabulary_operations
from greffe.objectives.objective import language_spec
from greffe.progress import format_count

SPEED_TEST_WIDTH = 256
BYTES_PER_TOKEN = 4.3
VOCABS = ((2e6, 2_000), (6e6, 4_000), (20e6, 8_000), (math.inf, 16_000))
"""Text size in bytes up to which a vocabulary size is used: 90% of its pieces occur 20 times."""
SHAPES = ((128, 2), (128, 4), (192, 3), (256, 4), (320, 5), (384, 6), (512, 8))
"""Width and layers, from small to large."""
TOKENS_PER_WEIGHT = 5.0
"""Tokens read per weight of the blocks: with fewer, a smaller base reaches a lower loss."""
WEIGHTS_PER_TOKEN = 2.0
"""Weights of the blocks per token of the text: with more, the base overfits."""
STEPS = 2_000
"""Least number of steps, unless batches would become tiny."""
BATCHES = (4, 8, 16, 32, 64)
ROWS = (256, 128)
"""Context lengths; the shorter one, which is no faster, only if batches cannot get smaller."""
OVERHEAD_WIDTH = 60.0
"""Speed grows with the width as width / (width + this): narrow products use the cores badly."""


@dataclass(frozen=True)
class Autosized:
    """A recipe, and three lines that explain it."""

    recipe: Recipe
    reasons: tuple[str, str, str]


def autosize(
    seconds: float,
    text_bytes: int | None,
    speed: float,
    *,
    vocab: int | None = None,
    objective: ObjectiveSpec | None = None,
) -> Autosized:
    """Choose vocabulary, context, width, depth and batch for a pretraining of this many seconds.

    text_bytes: size of the corpus, None if unknown; speed: operations per second that training at
    SPEED_TEST_WIDTH reaches on this machine; vocab: size of a tokenizer that exists already.
    """
    usual = load_recipe("small")
    objective = objective or usual.objective
    size = math.inf if text_bytes is None else float(text_bytes)
    pieces = vocab or next(pieces for limit, pieces in VOCABS if size <= limit)
    text_tokens = size / BYTES_PER_TOKEN

    width, layers = SHAPES[0]
    for shape in SHAPES:
        weights = _weights(*shape)
        tokens = seconds * _tokens_per_second(*shape, pieces, objective, speed)
        if tokens >= TOKENS_PER_WEIGHT * weights and weights <= WEIGHTS_PER_TOKEN * text_tokens:
            width, layers = shape
    tokens = seconds * _tokens_per_second(width, layers, pieces, objective, speed)
    context = next((rows for rows in ROWS if tokens / (BATCHES[0] * rows) >= STEPS), ROWS[-1])
    batch = max((b for b in BATCHES if tokens / (b * context) >= STEPS), default=BATCHES[0])
    recipe = usual.with_changes(
        [
            "name=autosized",
            f"tokenizer.vocab={pieces}",
            f"model.width={width}",
            f"model.layers={layers}",
            f"model.heads={width // 64}",
            f"model.feed_forward={4 * width}",
            f"model.context={context}",
            f"train.batch={batch}",
            f"train.lr={usual.train.lr * math.sqrt(usual.model.width / width):.2g}",
        ]
    ).model_copy(update={"objective": objective})
    return Autosized(recipe, _reasons(recipe, seconds, text_bytes, speed, tokens, given=vocab))


def _reasons(
    recipe: Recipe,
    seconds: float,
    text_bytes: int | None,
    speed: float,
    tokens: float,
    given: int | None,
) -> tuple[str, str, str]:
    model, batch = recipe.model, recipe.train.batch
    text = "of unknown size" if text_bytes is None else f"{format_count(text_bytes)} bytes"
    epochs = ""
    if text_bytes is not None:
        epochs = f", {format_count(round(tokens * BYTES_PER_TOKEN / text_bytes, 1))} epochs"
    steps = tokens / (batch * model.context)
    pieces = f"{recipe.tokenizer.vocab:,} pieces" + (" as given" if given else "")
    shape = f"width {model.width}, {model.layers} layers, context {model.context}, batch {batch}"
    amount = f"about {format_count(tokens)} tokens{epochs}, {format_count(steps)} steps"
    return (
        f"machine: {speed / 1e9:.0f} billion operations per second in training, measured just now",
        f"text: {text}, {pieces}, at most {WEIGHTS_PER_TOKEN:g} weights per token",
        f"time: {seconds / 60:.3g} minutes for {shape}: {amount}",
    )


def _weights(width: int, layers: int) -> int:
    """Return the weights of the blocks, whose feed-forward layer is four times the width."""
    return 12 * width * width * layers


def _tokens_per_second(
    width: int, layers: int, vocab: int, objective: ObjectiveSpec, speed: float
) -> float:
    context = ROWS[0]
    small = load_recipe("small").model
    spec = small.model_copy(update={"width": width, "layers": layers, "feed_forward": 4 * width})
    predicted = round(context * language_spec(objective).predicted_fraction)
    per_row = base_operations(spec, [context], causal=objective.directions == ("causal",))
    per_row += vocabulary_operations(width, vocab, predicted, transform=True)
    return speed * _relative_speed(width) * context / (TRAINING * per_row)


def _relative_speed(width: int) -> float:
    def fraction(columns: int) -> float:
        return columns / (columns + OVERHEAD_WIDTH)

    return fraction(width) / fraction(SPEED_TEST_WIDTH)

"""Fine-tuning a classifier on 1,600 synthetic reviews of very different lengths, batches of 16.

greffe's sampler and loop as in its pipeline, against Trainer with a BERT of the same shape: once
with its defaults, each batch padded to its longest text, and once with sampling by length.

A whole epoch of every contender would take minutes per round. So each round trains on a different
fifth of the reviews, with the same distribution of lengths; the time is that of one pass over the
fifth, times five.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.arithmetic import classification, recorded_shapes
from benchmarks.cases import (
    GREFFE,
    GREFFE_HALF,
    TRAINER,
    TRAINER_GROUPED,
    TRAINER_GROUPED_HALF,
    TRAINER_HALF,
)
from benchmarks.cases.masked import small_recipe
from benchmarks.greffe_loop import place, start_greffe, steps
from benchmarks.settings import Precision, Settings
from benchmarks.synthetic import Reviews, reviews, tokenizer_of
from benchmarks.timing import Contender, Piece, Sample, Stopwatch
from greffe.config.options import Training
from greffe.config.recipe import Recipe
from greffe.config.sections import Classification
from greffe.data.batches import Batch
from greffe.data.sampler import ExampleSampler
from greffe.data.tokenizer import Tokenizer
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import build_model
from greffe.objectives.classification import ClassificationObjective
from greffe.pipelines.finetune_recipe import (
    Start,
    choose_direction,
    choose_pooler,
    finetune_recipe,
)
from greffe.training.optim import build_optimizer
from greffe.training.schedule import Budget

TEXTS = 1600
QUICK_TEXTS = 160
PARTS = 5
WARMUP_TEXTS = 32


RecipeOf = Callable[[bool], Recipe]
"""Returns the recipe of a base; given True, one of tiny size."""


def set_up(settings: Settings, base: RecipeOf) -> tuple[Recipe, Tokenizer, Reviews, Reviews]:
    """Return the recipe, the tokenizer, all reviews, and two batches for warming up."""
    recipe = finetune_recipe(Start(), Training(recipe=base(settings.quick), budget="1epochs"))
    tokenizer = tokenizer_of(recipe.tokenizer.vocab)
    count = QUICK_TEXTS if settings.quick else TEXTS
    texts = reviews(recipe.seed, count, recipe.model.context, tokenizer)
    warm = Reviews(texts.rows[:WARMUP_TEXTS], texts.labels[:WARMUP_TEXTS])
    return recipe, tokenizer, texts, warm


def greffe(settings: Settings, precision: Precision, base: RecipeOf = small_recipe) -> Contender:
    """Build the contender with greffe's sampler and loop."""
    recipe, tokenizer, texts, warm = set_up(settings, base)
    watch = settings.stopwatch(precision)
    start_greffe(settings.threads)
    ours = GreffeFinetune(recipe, texts, tokenizer.pad, precision)
    ours.run_epoch(warm, watch)

    def run(number: int) -> Sample:
        with recorded_shapes(ours.model.base) as shapes:
            piece = ours.run_epoch(texts.part(number, PARTS), watch)
        return piece.duration(PARTS, classification(recipe.model, shapes, training=True))

    return run


def trainer(
    settings: Settings, sampling: str, precision: Precision, base: RecipeOf = small_recipe
) -> Contender:
    """Build the contender with BERT in Trainer, with one of its samplers."""
    from transformers import BertForSequenceClassification

    from benchmarks.trainer import PadToLongest, TrainerLoop, bert_config, labelled_rows

    recipe, tokenizer, texts, warm = set_up(settings, base)
    watch = settings.stopwatch(precision)
    model = BertForSequenceClassification(
        bert_config(recipe.model, tokenizer.size, num_labels=2, pad_token_id=tokenizer.pad)
    )
    loop = TrainerLoop(
        model,
        (),
        PadToLongest(tokenizer.pad),
        settings.folder("trainer"),
        precision=precision,
        batch=recipe.train.batch,
        lr=recipe.train.lr,
        clip=recipe.train.clip,
        sampling=sampling,
    )
    loop.run_epoch(labelled_rows(warm.rows, warm.labels), watch)

    def run(number: int) -> Sample:
        part = texts.part(number, PARTS)
        with recorded_shapes(model.get_input_embeddings()) as shapes:
            piece = loop.run_epoch(labelled_rows(part.rows, part.labels), watch)
        return piece.duration(PARTS, classification(recipe.model, shapes, training=True))

    return run


class GreffeFinetune:
    """The model and loop of `greffe.pipelines.finetune`, without files and validation."""

    def __init__(self, recipe: Recipe, texts: Reviews, pad: int, precision: Precision) -> None:
        spec = recipe.objective
        assert isinstance(spec, Classification)
        direction = choose_direction(spec, ["bidirectional"])
        head = ClassificationHead(
            classes=2, pooler=choose_pooler(spec, direction), dropout=spec.dropout
        )
        self.recipe = recipe
        self.model = build_model(
            recipe.model, recipe.tokenizer.vocab, {"classification": head}, recipe.seed
        )
        place(self.model, precision)
        self.task = ClassificationObjective(
            spec, np.bincount(texts.labels).tolist(), causal=direction == "causal", pad=pad
        )
        self.optimizer = build_optimizer(self.model, recipe.train, recipe.model.layers)

    def run_epoch(self, texts: Reviews, watch: Stopwatch) -> Piece:
        """Train on every text once."""
        spec, seed = self.recipe.train, self.recipe.seed
        sampler = ExampleSampler(seed, tuple(len(row) for row in texts.rows), spec.batch)

        def batches(step: int) -> list[Batch]:
            return [
                self.task.prepare(
                    [texts.rows[index] for index in indices],
                    [texts.labels[index] for index in indices],
                )
                for indices in np.array_split(sampler.step(step), spec.accumulation)
                if len(indices)
            ]

        budget = Budget.parse(spec.budget, sampler.steps_per_epoch)
        with watch:
            for step in steps(self.model, self.task, self.optimizer, batches, spec, budget, seed):
                assert not step.is_skipped
        return watch.taken()


CONTENDERS: dict[str, Callable[[Settings], Contender]] = {
    GREFFE: partial(greffe, precision="fp32"),
    GREFFE_HALF: partial(greffe, precision="bf16"),
    TRAINER: partial(trainer, sampling="random", precision="fp32"),
    TRAINER_HALF: partial(trainer, sampling="random", precision="bf16"),
    TRAINER_GROUPED: partial(trainer, sampling="group_by_length", precision="fp32"),
    TRAINER_GROUPED_HALF: partial(trainer, sampling="group_by_length", precision="bf16"),
}

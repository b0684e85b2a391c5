"""Masked training of the small model, 16 rows of 256 tokens per step, 15% of them masked.

greffe's loop against Trainer with a BERT of the same shape, on the same masked rows.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.arithmetic import language_training
from benchmarks.cases import GREFFE, GREFFE_HALF, TRAINER, TRAINER_HALF
from benchmarks.settings import Precision, Settings
from benchmarks.synthetic import Ids, tokenizer_of, whole_rows
from benchmarks.timing import Contender, Piece, Sample, time_steps
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe

if TYPE_CHECKING:
    from greffe.data.batches import Batch

BATCHES = 8  # different ones, in turn
WARMUP = 1
GREFFE_STEPS = 3
TRAINER_STEPS = 2
IGNORED = -100
QUICK = ("tokenizer.vocab=1000", "model.width=32", "model.feed_forward=64", "model.context=32")


def small_recipe(quick: bool) -> Recipe:
    """Return greffe's default recipe."""
    recipe = load_recipe("small")
    return recipe.with_changes(QUICK) if quick else recipe


def small_rows(recipe: Recipe) -> list[Ids]:
    """Return batches of rows [B, context]."""
    batch = recipe.train.batch
    tokenizer = tokenizer_of(recipe.tokenizer.vocab)
    rows = whole_rows(recipe.seed, batch * BATCHES, recipe.model.context, tokenizer)
    return [rows[start : start + batch] for start in range(0, len(rows), batch)]


def greffe(settings: Settings, precision: Precision) -> Contender:
    """Build the contender with greffe's loop and recipe."""
    from benchmarks.greffe_loop import LanguageLoop

    recipe = small_recipe(settings.quick)
    watch = settings.stopwatch(precision)
    tokenizer = tokenizer_of(recipe.tokenizer.vocab)
    loop = LanguageLoop(recipe, tokenizer, small_rows(recipe), settings.threads, precision)
    masked = {int(batch.counts["masked_token"]) for batch in loop.batches}
    assert len(masked) == 1, "rows of one length have equally many masked tokens"
    [through_head] = masked

    def run(_: int) -> Sample:
        piece = time_steps(watch, loop.step, warmup=WARMUP, steps=GREFFE_STEPS)
        return _sample(recipe, piece, GREFFE_STEPS, through_head, last=through_head)

    return run


def trainer(settings: Settings, precision: Precision) -> Contender:
    """Build the contender with BERT in Trainer."""
    from transformers import BertForMaskedLM

    from benchmarks.greffe_loop import language_batches
    from benchmarks.trainer import TrainerLoop, bert_config, collate_rows
    from greffe.objectives.objective import language_spec

    recipe = small_recipe(settings.quick)
    watch = settings.stopwatch(precision)
    tokenizer = tokenizer_of(recipe.tokenizer.vocab)
    objective = language_spec(recipe.objective).build(tokenizer, tied=recipe.model.tied)
    prepared = language_batches(objective, small_rows(recipe), recipe.seed)
    loop = TrainerLoop(
        BertForMaskedLM(bert_config(recipe.model, tokenizer.size)),
        [example for batch in prepared for example in as_examples(batch)],
        collate_rows,
        settings.folder("trainer"),
        precision=precision,
        batch=recipe.train.batch,
        lr=recipe.train.lr,
        clip=recipe.train.clip,
    )

    def run(_: int) -> Sample:
        piece = loop.run(watch, warmup=WARMUP, steps=TRAINER_STEPS)
        # Vocabulary scores are computed for all positions, masked or not.
        through_head = recipe.train.batch * recipe.model.context
        return _sample(recipe, piece, TRAINER_STEPS, through_head, last=None)

    return run


def as_examples(batch: Batch) -> list[dict[str, Any]]:
    """Return the rows of a batch with BERT's labels: masked tokens, and -100 elsewhere."""
    import torch

    assert batch.indices is not None and batch.targets is not None
    labels = torch.full_like(batch.ids, IGNORED)
    labels.view(-1)[batch.indices] = batch.targets
    return [{"input_ids": ids, "labels": row} for ids, row in zip(batch.ids, labels, strict=True)]


def _sample(
    recipe: Recipe, piece: Piece, steps: int, through_head: int, *, last: int | None
) -> Sample:
    operations = language_training(
        recipe.model,
        recipe.tokenizer.vocab,
        recipe.train.batch,
        recipe.model.context,
        causal=False,
        predicted=through_head,
        last=last,
    )
    return piece.speed(steps * recipe.train.batch * recipe.model.context, steps * operations)


CONTENDERS = {
    GREFFE: partial(greffe, precision="fp32"),
    GREFFE_HALF: partial(greffe, precision="bf16"),
    TRAINER: partial(trainer, precision="fp32"),
    TRAINER_HALF: partial(trainer, precision="bf16"),
}

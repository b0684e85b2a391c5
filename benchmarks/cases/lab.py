"""Exact causal training of the lab's model, 8 rows of 256 tokens per step.

The lab's loop, greffe's loop and Trainer with a GPT-2 of the same shape, on the same ids. The lab's
loop gets one more token per row, so that its input is 256 tokens like that of the others; predicted
tokens are counted.
"""

from __future__ import annotations

from functools import partial

from benchmarks.arithmetic import language_training
from benchmarks.cases import GREFFE, GREFFE_HALF, LAB_LOOP, TRAINER, TRAINER_HALF
from benchmarks.settings import Precision, Settings
from benchmarks.synthetic import Ids, tokenizer_of, whole_rows
from benchmarks.timing import Contender, Piece, Sample, time_steps
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe

BATCHES = 8  # different ones, in turn
WARMUP = 1
GREFFE_STEPS = 3
OTHER_STEPS = 2
QUICK = ("tokenizer.vocab=1001", "model.width=40", "model.context=32")


def lab_recipe(quick: bool) -> Recipe:
    """Return the recipe of the lab's model; its dropout is zero."""
    recipe = load_recipe("lab")
    return recipe.with_changes(QUICK) if quick else recipe


def lab_rows(recipe: Recipe, batch: int, batches: int) -> list[Ids]:
    """Return batches of rows [B, context + 1]."""
    tokenizer = tokenizer_of(recipe.tokenizer.vocab)
    rows = whole_rows(recipe.seed, batch * batches, recipe.model.context + 1, tokenizer)
    return [rows[start : start + batch] for start in range(0, len(rows), batch)]


def lab_loop(settings: Settings) -> Contender:
    """Build the contender with torch's layers and all logits."""
    from benchmarks.lab_loop import LabLoop

    recipe = lab_recipe(settings.quick)
    watch = settings.stopwatch()
    loop = LabLoop(
        recipe.model, recipe.tokenizer.vocab, lab_rows(recipe, recipe.train.batch, BATCHES)
    )
    read = recipe.train.batch * recipe.model.context

    def run(_: int) -> Sample:
        piece = time_steps(watch, loop.step, warmup=WARMUP, steps=OTHER_STEPS)
        return _sample(recipe, piece, OTHER_STEPS, predicted=read, through_head=read)

    return run


def greffe(settings: Settings, precision: Precision) -> Contender:
    """Build the contender with greffe's loop and recipe."""
    from benchmarks.greffe_loop import LanguageLoop

    recipe = lab_recipe(settings.quick)
    watch = settings.stopwatch(precision)
    rows = [ids[:, :-1] for ids in lab_rows(recipe, recipe.train.batch, BATCHES)]
    tokenizer = tokenizer_of(recipe.tokenizer.vocab)
    loop = LanguageLoop(recipe, tokenizer, rows, settings.threads, precision)
    predicted = recipe.train.batch * (recipe.model.context - 1)

    def run(_: int) -> Sample:
        piece = time_steps(watch, loop.step, warmup=WARMUP, steps=GREFFE_STEPS)
        return _sample(recipe, piece, GREFFE_STEPS, predicted=predicted, through_head=predicted)

    return run


def trainer(settings: Settings, precision: Precision) -> Contender:
    """Build the contender with GPT-2 in Trainer."""
    import torch

    from benchmarks.trainer import TrainerLoop, collate_rows, gpt2

    recipe = lab_recipe(settings.quick)
    watch = settings.stopwatch(precision)
    batch, context = recipe.train.batch, recipe.model.context
    rows = [
        torch.from_numpy(row[:-1].copy()) for ids in lab_rows(recipe, batch, BATCHES) for row in ids
    ]
    loop = TrainerLoop(
        gpt2(recipe.model, recipe.tokenizer.vocab),
        [{"input_ids": row, "labels": row} for row in rows],
        collate_rows,
        settings.folder("trainer"),
        precision=precision,
        batch=batch,
        lr=recipe.train.lr,
        clip=recipe.train.clip,
    )

    def run(_: int) -> Sample:
        piece = loop.run(watch, warmup=WARMUP, steps=OTHER_STEPS)
        # Vocabulary scores are computed for all positions, also for the unused last one.
        return _sample(
            recipe,
            piece,
            OTHER_STEPS,
            predicted=batch * (context - 1),
            through_head=batch * context,
        )

    return run


def _sample(
    recipe: Recipe, piece: Piece, steps: int, *, predicted: int, through_head: int
) -> Sample:
    operations = language_training(
        recipe.model,
        recipe.tokenizer.vocab,
        recipe.train.batch,
        recipe.model.context,
        causal=True,
        predicted=through_head,
    )
    return piece.speed(steps * predicted, steps * operations)


CONTENDERS = {
    LAB_LOOP: lab_loop,
    GREFFE: partial(greffe, precision="fp32"),
    GREFFE_HALF: partial(greffe, precision="bf16"),
    TRAINER: partial(trainer, precision="fp32"),
    TRAINER_HALF: partial(trainer, precision="bf16"),
}

"""How many trainings run side by side, and how many threads each of them has.

The products of a small model are too small for several threads to share them well: two trainings of
one thread each are faster than one after the other with two threads.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass

from greffe.config.bounds import Jobs, check_number
from greffe.config.recipe import Recipe
from greffe.config.spans import Span
from greffe.data.tables import Example
from greffe.errors import OutOfMemoryError, RecipeError
from greffe.machine import available_memory, cores
from greffe.model.arithmetic import TRAINING, base_operations
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.memory import CERTAIN, BatchShape, format_bytes, training_need
from greffe.training.device import choose_device
from greffe.training.distributed import World
from greffe.training.schedule import Budget

SMALL_WIDTH = 512
"""Widest model whose trainings run side by side by default."""
MEMORY_FRACTION = 0.5
"""Of the available memory that they may need by default."""
PROCESS_BYTES = 400 * 10**6
"""Of a worker process before it trains: Python, torch and the texts."""
CHARACTERS_PER_TOKEN = 4
OPERATIONS_PER_SECOND = 40e9
STEP_SECONDS = 0.005
"""Of a step of the smallest model."""
WORTH_SECONDS = 20.0
"""Estimated length of all trainings from which on new processes pay: each takes about two seconds
to start."""


@dataclass(frozen=True)
class SideBySide:
    """How trainings run side by side: so many of them, with so many threads each."""

    jobs: int
    threads: int

    def __str__(self) -> str:
        return f"{self.jobs} side by side, {self.threads} thread{'s' * (self.threads > 1)} each"


ONE_BY_ONE = SideBySide(jobs=1, threads=0)


def choose_jobs(
    given: int | None, trainings: int, recipe: Recipe, examples: Sequence[Example], classes: int
) -> int:
    """Return how many of so many fine-tunings run side by side: as asked, or one per core.

    By default, only small models that fit into memory side by side do, and only on a CPU. With a
    budget in minutes they would learn less in the same time than one after the other.
    """
    if given is not None:
        check_number("number of jobs", given, Jobs, example="--jobs 2")
    if World.join().size > 1:
        if given is not None and given > 1:
            raise RecipeError(
                "--jobs cannot be used under torchrun.",
                expected="one training at a time, shared by all processes",
                found=f"--jobs {given}",
                hint="leave out --jobs, or start the command without torchrun",
            )
        return 1
    if trainings <= 1 or multiprocessing.current_process().daemon:  # which may start no others
        return 1
    if given is not None:
        return _checked(min(given, trainings), recipe, examples, classes)
    is_timed = Span.parse(recipe.train.budget).unit == "seconds"
    is_gpu = choose_device(recipe.train.device).type != "cpu"
    if recipe.model.width > SMALL_WIDTH or is_timed or is_gpu:
        return 1
    if trainings * _seconds(recipe, examples) < WORTH_SECONDS:
        return 1
    available = MEMORY_FRACTION * (available_memory() or 0)
    fitting = int(available / _bytes_of_one(recipe, examples, classes))
    return max(1, min(cores(), trainings, fitting))


def _checked(jobs: int, recipe: Recipe, examples: Sequence[Example], classes: int) -> int:
    """Return the jobs that were asked for, or raise an error if they plainly need too much."""
    each, available = _bytes_of_one(recipe, examples, classes), available_memory()
    if jobs == 1 or available is None or CERTAIN * jobs * each <= available:
        return jobs
    raise OutOfMemoryError(
        f"{jobs} trainings side by side need about {format_bytes(jobs * each)} of memory.",
        expected=f"at most {format_bytes(available)}, what is available",
        hint=f"--jobs {max(1, int(available / each))}",
    )


def _row_tokens(recipe: Recipe, examples: Sequence[Example]) -> float:
    """Return about how many tokens of a text are read."""
    most = recipe.model.context
    lengths = [min(len(each.text) // CHARACTERS_PER_TOKEN + 2, most) for each in examples]
    return sum(lengths) / len(lengths)


def _seconds(recipe: Recipe, examples: Sequence[Example]) -> float:
    """Return about how long one training takes with one thread."""
    train, row = recipe.train, _row_tokens(recipe, examples)
    steps_per_epoch = max(1.0, len(examples) / train.batch)
    budget = Budget.parse(train.budget, steps_per_epoch, train.least_steps)
    texts = min(train.batch, len(examples))
    steps = budget.total / (texts * row) if budget.span.unit == "tokens" else budget.total
    per_text = TRAINING * base_operations(recipe.model, [round(row)], causal=False)
    return steps * (STEP_SECONDS + texts * per_text / OPERATIONS_PER_SECOND)


def _bytes_of_one(recipe: Recipe, examples: Sequence[Example], classes: int) -> int:
    """Return the memory that one training in a process of its own needs."""
    train = recipe.train
    batch = BatchShape(
        rows=min(train.batch, len(examples)),
        parts=train.accumulation,
        row_tokens=_row_tokens(recipe, examples),
    )
    heads = [ClassificationHead(classes=classes)]
    need = training_need(recipe.model, recipe.tokenizer.vocab, heads, train, batch)
    return PROCESS_BYTES + need.total

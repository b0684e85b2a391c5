"""Which recipe a pretraining follows: named, inherited, autosized to its time, or `small`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from greffe.config.options import Training
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.spans import Span
from greffe.data.corpus import CORPUS_FILE, PREPARE_FILE, Corpus
from greffe.data.text import estimated_bytes, find_sources
from greffe.objectives.objective import language_spec
from greffe.pipelines.autosize import autosize
from greffe.pipelines.speed_test import training_speed
from greffe.progress import notice
from greffe.run import RECIPE_FILE, RunDirectory
from greffe.training.compute import set_up_compute
from greffe.training.distributed import World


def choose_recipe(
    training: Training, parent: RunDirectory | None, autosized: Recipe | None = None
) -> Recipe:
    """Return the named or autosized recipe, or the parent's, or `small`; then flags, then --set."""
    given = training.recipe or autosized
    if given is not None:
        recipe = given if isinstance(given, Recipe) else load_recipe(given)
    elif parent is not None:
        recipe = parent.recipe()
        if parent.manifest().kind == "classifier":
            # A classifier's [train] and objective are for labels: text needs the usual ones.
            usual = load_recipe("small")
            recipe = recipe.model_copy(update={"objective": usual.objective, "train": usual.train})
    else:
        recipe = load_recipe("small")
    flags = [f"objective.kind={training.objective}"] if training.objective else []
    return recipe.with_changes([*flags, *training.flag_changes(), *training.changes])


def needs_autosize(training: Training, parent: RunDirectory | None) -> bool:
    """Whether the recipe follows from the time: a budget in time, no recipe and no parent."""
    if training.recipe is not None or parent is not None or training.budget is None:
        return False
    return Span.parse(training.budget).unit == "seconds"


def started_recipe(out: str | Path) -> Recipe | None:
    """Return the recipe that a run in this folder was started with, if there is one."""
    run = RunDirectory(out)
    return run.recipe() if (run.path / RECIPE_FILE).is_file() else None


def autosized_recipe(
    inputs: Sequence[str | Path], training: Training, vocab: int | None, world: World
) -> Recipe:
    """Return a recipe for the time, the text and the machine; `vocab` if that is given."""
    assert training.budget is not None
    if is_prepared(inputs) and (Path(inputs[0]) / CORPUS_FILE).is_file():
        corpus = Corpus.open(inputs[0])
        vocab = corpus.tokenizer.size
        size: int | None = corpus.manifest.bytes
    else:
        size = estimated_bytes(find_sources(inputs))
    changes = [f"objective.kind={training.objective}"] if training.objective else []
    objective = language_spec(load_recipe("small").with_changes(changes).objective)
    set_up_compute()
    # Ranks that share a machine are slower together than alone: all measure at the same time.
    device, precision = training.device or "auto", training.precision or "auto"
    speed = world.sum([training_speed(device, precision)])[0]
    seconds = Span.parse(training.budget).amount
    autosized = autosize(seconds, size, speed, vocab=vocab, objective=objective)
    for reason in autosized.reasons:
        notice(reason)
    return autosized.recipe


def is_prepared(inputs: Sequence[str | Path]) -> bool:
    """Whether the input is a prepared corpus, finished or not."""
    folder = Path(inputs[0])
    markers = (CORPUS_FILE, PREPARE_FILE)
    return len(inputs) == 1 and any((folder / marker).is_file() for marker in markers)

"""Which recipe a pretraining follows: named, inherited, fitted to its time, or the usual."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.spans import Span
from greffe.data.corpus import CORPUS_FILE, PREPARE_FILE, Corpus
from greffe.data.text import estimated_bytes, find_sources
from greffe.pipelines.autosize import autosize
from greffe.pipelines.speed_test import training_speed
from greffe.progress import notice
from greffe.run import RECIPE_FILE, RunDirectory
from greffe.training.compute import set_up_compute
from greffe.training.distributed import World


def choose_recipe(
    recipe: str | Path | Recipe | None,
    parent: RunDirectory | None,
    objective: str | None,
    budget: str | None,
    seed: int | None,
    changes: Sequence[str],
) -> Recipe:
    """The recipe named or fitted, or the parent's, or `small`; then the flags; then each --set."""
    if recipe is None:
        chosen = parent.recipe() if parent is not None else load_recipe("small")
        if parent is not None and parent.manifest().kind == "classifier":
            # A classifier's [train] and objective are for labels: text needs the usual ones.
            usual = load_recipe("small")
            chosen = chosen.model_copy(update={"objective": usual.objective, "train": usual.train})
    else:
        chosen = recipe if isinstance(recipe, Recipe) else load_recipe(recipe)
    flags = [f"objective.kind={objective}"] if objective else []
    flags += [f"train.budget={budget!r}"] if budget is not None else []
    flags += [f"seed={seed}"] if seed is not None else []
    return chosen.with_changes([*flags, *changes])


def is_time(budget: str) -> bool:
    """Whether a budget is in hours, minutes or seconds."""
    return Span.parse(budget).unit == "seconds"


def begun_recipe(out: str | Path) -> Recipe | None:
    """What a run in this folder was begun with, if there is one: going on, it keeps its shape."""
    run = RunDirectory(out)
    return run.recipe() if (run.path / RECIPE_FILE).is_file() else None


def autosized_recipe(
    inputs: Sequence[str | Path],
    objective: str | None,
    budget: str,
    vocab: int | None,
    world: World,
) -> Recipe:
    """What fits the time, the text and the machine; `vocab`: pieces, where that is settled."""
    set_up_compute()
    # Ranks that share a machine are slower together than alone: all measure at the same time.
    speed = world.sum([training_speed()])[0]
    if is_prepared(inputs) and (Path(inputs[0]) / CORPUS_FILE).is_file():
        corpus = Corpus.open(inputs[0])
        vocab = corpus.tokenizer.size
        size: int | None = corpus.manifest.bytes
    else:
        size = estimated_bytes(find_sources(inputs))
    usual = load_recipe("small").with_changes([f"objective.kind={objective}"] if objective else [])
    seconds = Span.parse(budget).amount
    fitted = autosize(seconds, size, speed, vocab=vocab, objective=usual.objective)
    for reason in fitted.reasons:
        notice(reason)
    return fitted.recipe


def is_prepared(inputs: Sequence[str | Path]) -> bool:
    """Whether the input is a corpus, finished or not, and no text."""
    folder = Path(inputs[0])
    markers = (CORPUS_FILE, PREPARE_FILE)
    return len(inputs) == 1 and any((folder / marker).is_file() for marker in markers)

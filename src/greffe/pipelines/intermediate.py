"""Labels of others before one's own: a fine-tuning inside the folder of the one that follows.

What comes of it is a run of its own, `intermediate/`, from which other texts with
the same labels can be fine-tuned.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from greffe.config.options import Reading
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.data.tables import Example, split_examples
from greffe.errors import DataError, MismatchError, RecipeError
from greffe.model.weights import check_same_architecture
from greffe.pipelines.auxiliary import AuxiliaryTables, open_auxiliary
from greffe.pipelines.finetune import finetune
from greffe.pipelines.finetune_recipe import finetune_recipe
from greffe.pipelines.labelled import Examples, check_labels, data_hash, load_parts
from greffe.pipelines.provenance import earlier_data
from greffe.pipelines.run_folder import (
    check_same_data,
    check_same_recipe,
    check_same_way,
    run_folder,
)
from greffe.progress import notice
from greffe.run import INTERMEDIATE, RUN_FILE, RunDirectory
from greffe.seeding import rng
from greffe.training.checkpoint import run_weights
from greffe.training.distributed import World

INTERMEDIATE_RECIPE, TARGET = "intermediate", "target"
"""The recipes of both; the second is what the taught run itself says of fine-tunings from it."""
MOST_TO_ONE = 2.5
"""Of one table, at most so many texts of a class for one of the other classes: twenty praises for
each complaint teach little and take most of the time."""
WATCHED_SHARE, MOST_WATCHED = 0.02, 1000
"""What is held out of the texts of others: watched, and never chosen by."""
SHARED = {
    "objective": ("pooler", "direction", "dropout", "lowercase"),
    "train": ("threads", "compile", "checkpoint_every"),
}
"""What the grafting's recipe says for the teaching too: the head's shape, and the machine."""
SHAPE = "model."
"""Beginning of changes that concern both."""


@dataclass(frozen=True)
class Intermediate:
    """A base that has learnt the labels of others, and one's own texts as they were checked."""

    run: RunDirectory
    train: list[Example]
    valid: list[Example]


def finetune_intermediate(
    aux_data: Sequence[Examples],
    data: Examples,
    out: str | Path,
    *,
    parent: RunDirectory | None = None,
    like: RunDirectory | None = None,
    recipe: str | Path | Recipe | None = None,
    valid: Examples | None = None,
    budget: str | None = None,
    seed: int | None = None,
    soup: int | None = None,
    changes: Sequence[str] = (),
    options: Reading | None = None,
    new_head: bool = False,
    show_tensors: bool = False,
    overwrite: bool = False,
    resume: bool = False,
) -> Intermediate:
    """Take the folder `out` and teach the tables `also` in it, for a grafting that goes on there.

    Everything else is said of the grafting, and checked before the teaching begins.
    """
    world = World.join()
    model_of = parent or like
    if model_of is None:
        raise RecipeError(
            "Labels of others are taught to a model whose shape is known.",
            expected="--aux-data with --from RUN, or with --scratch --like RUN",
            found="--aux-data with --scratch alone",
        )
    target = finetune_recipe(model_of, recipe or TARGET, budget, seed, changes, soup=soup)
    if parent is not None:
        check_same_architecture(parent.recipe().model, target.model, parent.name)
    reading = options or Reading()
    train_part, valid_part = load_parts(data, valid, reading, target.seed)
    labels = check_labels(train_part, valid_part)
    others = open_auxiliary(aux_data, labels, reading, [*train_part, *valid_part])
    lessons, watched = _lessons(others, target.seed)

    given = [table for table in (data, valid, *aux_data) if isinstance(table, str | Path)]
    with run_folder(
        out, world, overwrite=overwrite, resume=resume, sources=[*given, model_of.path]
    ) as folder:
        intermediate = RunDirectory(folder.path / INTERMEDIATE)
        if folder.resuming:
            check_same_way(RunDirectory(folder.path), aux_data=True)
            hashes = {"train": data_hash(lessons), "valid": data_hash(watched), **others.hashes}
            _check_same_teaching(intermediate, parent, hashes, target.seed)
        count = len(lessons) + len(watched)
        taken = f"{count:,} texts"
        if count < others.texts:
            taken = f"{count:,} of {others.texts:,} texts, so that no class prevails"
        notice(f"first the labels of others ({taken}), then one's own")
        finetune(
            lessons,
            intermediate.path,
            parent=parent,
            like=like,
            recipe=INTERMEDIATE_RECIPE,
            valid=watched,
            seed=target.seed,
            changes=_shared_changes(target, changes),
            drawn_from=others.hashes,
            afterwards=load_recipe(TARGET),
            new_head=new_head,
            show_tensors=show_tensors,
            resume=True,
        )
    return Intermediate(intermediate, train_part, valid_part)


def _lessons(others: AuxiliaryTables, seed: int) -> tuple[list[Example], list[Example]]:
    """What is taught of the texts of others, and what is watched."""
    missing = sorted(set(others.labels) - {one.label for table in others.tables for one in table})
    if missing:
        raise DataError(
            "The texts of others lack a class.",
            expected=f"texts of every label: {', '.join(others.labels)}",
            found=f"none with {', '.join(missing[:5])}",
            hint="leave --aux-data out, or give tables that have these labels too",
        )
    mixed = mix(others.tables, seed)
    lessons, watched = split_examples(mixed, min(WATCHED_SHARE, MOST_WATCHED / len(mixed)), seed)
    if not watched:
        raise DataError(
            "There are too few labelled texts of others to learn from.",
            expected="two different texts of a class at least",
            found=f"{len(mixed)} texts",
            hint="leave --aux-data out",
        )
    return lessons, watched


def _check_same_teaching(
    intermediate: RunDirectory, parent: RunDirectory | None, hashes: Mapping[str, str], seed: int
) -> None:
    """A teaching goes on with its own seed, base and texts, also if it is not trained any more."""
    if not (intermediate.path / RUN_FILE).exists():
        return
    check_same_recipe(intermediate, intermediate.recipe().model_copy(update={"seed": seed}))
    earlier = {} if parent is None else earlier_data(parent)
    check_same_data(intermediate, {**hashes, **earlier})
    before, weights = (
        intermediate.manifest().lineage,
        None if parent is None else run_weights(parent)[1],
    )
    if before.parent_weights != weights:
        raise MismatchError(
            f"{intermediate.path} was begun with another base and cannot be resumed with this one.",
            expected=before.parent or "fresh weights",
            found=parent.name if parent else "fresh weights",
            hint="resume with the same --from, or start anew with --overwrite",
        )


def _shared_changes(target: Recipe, changes: Sequence[str]) -> list[str]:
    """Changes of the recipe `teach`, after which the grafting can take over all that was taught."""
    tree = target.model_dump(mode="json")
    shape = [change for change in changes if change.strip().startswith(SHAPE)]
    return shape + [
        f"{section}.{key}={json.dumps(tree[section][key])}"
        for section, keys in SHARED.items()
        for key in keys
    ]


def mix(tables: Sequence[Sequence[Example]], seed: int) -> list[Example]:
    """Texts of all tables, of each at most MOST_TO_ONE of a class for one of its other classes."""
    mixed: list[Example] = []
    for number, table in enumerate(tables):
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, example in enumerate(table):
            places[example.label].append(place)
        chosen: list[int] = []
        for label, found in places.items():
            others, classes = len(table) - len(found), len(places) - 1
            most = math.ceil(MOST_TO_ONE * others / classes) if classes else len(found)
            draw = rng(seed, "others", number, label)
            chosen += found if len(found) <= most else draw.choice(found, most, False).tolist()
        mixed += [table[place] for place in sorted(chosen)]
    return mixed

"""Intermediate-task fine-tuning: auxiliary labels first, then the target's.

The first stage writes a run of its own, `intermediate/` inside the output folder; other texts with
the same labels can be fine-tuned from it.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from greffe.config.lora import LoraSpec
from greffe.config.options import Output, Reading, Tables, Training
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.data.tables import Example, split_examples
from greffe.errors import DataError, MismatchError, RecipeError
from greffe.pipelines.auxiliary import AuxiliaryTables, open_auxiliary
from greffe.pipelines.finetune import finetune
from greffe.pipelines.finetune_recipe import Start, check_start, finetune_recipe
from greffe.pipelines.labelled import LabelledParts, load_parts, table_paths
from greffe.pipelines.provenance import earlier_data
from greffe.pipelines.run_folder import (
    begin_folder,
    check_same_data,
    check_same_recipe,
    check_same_stages,
    run_folder,
)
from greffe.progress import notice
from greffe.run import INTERMEDIATE, RUN_FILE, RunDirectory
from greffe.seeding import rng
from greffe.training.checkpoint import run_weights
from greffe.training.distributed import World

TARGET = "target"
"""The recipe of the second stage and of later fine-tunings from an intermediate run."""
MOST_TO_ONE = 2.5
"""Most texts of a class in a table, as a multiple of the mean of its other classes: more of them
add little and take most of the time."""
HELD_OUT_FRACTION, MOST_HELD_OUT = 0.02, 1000
"""How much auxiliary data is held out: logged, and never used to choose weights."""
SHARED = {
    "objective": ("pooler", "start", "direction", "dropout", "lowercase"),
    "train": ("device", "precision", "threads", "compile", "checkpoint_every"),
    "train.lora": tuple(LoraSpec.model_fields),
}
"""What the target's recipe decides for the first stage too: the head, the machine, and
whether it can hold a training of all weights."""


@dataclass(frozen=True)
class Intermediate:
    """A run trained on auxiliary labels, and the target texts as they were checked."""

    run: RunDirectory
    target: LabelledParts


def finetune_in_stages(
    tables: Tables,
    output: Output,
    *,
    start: Start,
    training: Training = Training(),
    reading: Reading = Reading(),
) -> RunDirectory:
    """Fine-tune on auxiliary labels first, then on the target's, in one folder."""
    first = finetune_intermediate(tables, output, start=start, training=training, reading=reading)
    return finetune(
        Tables(data=first.target.train, valid=first.target.valid),
        Output(out=output.out, resume=True),  # the first stage has taken the folder
        start=Start(parent=first.run),
        training=training,
    )


def finetune_intermediate(
    tables: Tables,
    output: Output,
    *,
    start: Start,
    training: Training = Training(),
    reading: Reading = Reading(),
) -> Intermediate:
    """Fine-tune on the auxiliary tables, in `intermediate/` inside the output folder.

    The recipe and the changes are those of the target's fine-tuning, which is checked here, before
    the first stage begins.
    """
    world = World.join()
    if start.model_of is None:
        raise RecipeError(
            "--aux-data needs a model whose architecture is known.",
            expected="--aux-data with --from RUN, or with --scratch --like RUN",
            found="--aux-data with --scratch alone",
        )
    target = finetune_recipe(start, replace(training, recipe=training.recipe or TARGET))
    sources = [*table_paths(tables), start.model_of.path]
    with run_folder(output, world, sources) as folder:
        parts = load_parts(tables, reading, target.seed)
        known = [*parts.train, *parts.valid]
        auxiliary = open_auxiliary(tables.aux_data, parts.labels, reading, known)
        auxiliary_parts = _auxiliary_parts(auxiliary, target.seed)
        intermediate = RunDirectory(folder.path / INTERMEDIATE)
        if folder.resuming:
            check_same_stages(RunDirectory(folder.path), aux_data=True)
            hashes = {**auxiliary_parts.hashes, **auxiliary.hashes}
            _check_same_start(intermediate, start.parent, hashes, target.seed)
        check_start(start)
        begin_folder(folder, world)
        notice(
            f"first {_describe(auxiliary_parts, auxiliary)} with auxiliary labels, then your labels"
        )
        finetune(
            Tables(data=auxiliary_parts.train, valid=auxiliary_parts.valid),
            Output(out=intermediate.path, resume=True),
            start=start,
            training=Training(
                recipe="intermediate",
                seed=target.seed,
                jobs=training.jobs,
                changes=_shared_changes(target, training.changes),
                show_tensors=training.show_tensors,
                track=training.track,
            ),
            drawn_from=auxiliary.hashes,
            afterwards=load_recipe(TARGET),
            calibrates=False,
        )
    return Intermediate(intermediate, parts)


def _describe(auxiliary_parts: LabelledParts, auxiliary: AuxiliaryTables) -> str:
    count = len(auxiliary_parts.train) + len(auxiliary_parts.valid)
    if count < auxiliary.texts:
        return f"{count:,} of {auxiliary.texts:,} texts (to balance the classes)"
    return f"{count:,} texts"


def _auxiliary_parts(auxiliary: AuxiliaryTables, seed: int) -> LabelledParts:
    """Return the auxiliary texts that are trained on, and those that are held out."""
    found = {example.label for table in auxiliary.tables for example in table}
    missing = sorted(set(auxiliary.labels) - found)
    if missing:
        raise DataError(
            "The auxiliary data lacks a class.",
            expected=f"texts of every label: {', '.join(auxiliary.labels)}",
            found=f"none with {', '.join(missing[:5])}",
            hint="leave --aux-data out, or add tables that have these labels",
        )
    mixed = mix(auxiliary.tables, seed)
    train, valid = split_examples(mixed, min(HELD_OUT_FRACTION, MOST_HELD_OUT / len(mixed)), seed)
    if not valid:
        raise DataError(
            "There is too little auxiliary data.",
            expected="at least two different texts of a class",
            found=f"{len(mixed)} texts",
            hint="leave --aux-data out",
        )
    return LabelledParts(train, valid, auxiliary.labels)


def _check_same_start(
    intermediate: RunDirectory, parent: RunDirectory | None, hashes: Mapping[str, str], seed: int
) -> None:
    """Raise an error unless a resumed first stage has the same seed, base and texts as before."""
    if not (intermediate.path / RUN_FILE).exists():
        return
    check_same_recipe(intermediate, intermediate.recipe().model_copy(update={"seed": seed}))
    check_same_data(intermediate, {**hashes, **earlier_data(parent)})
    before = intermediate.manifest().lineage
    weights = None if parent is None else run_weights(parent)[1]
    if before.parent_weights != weights:
        raise MismatchError(
            f"{intermediate.path} was started with another base.",
            expected=before.parent or "fresh weights",
            found=parent.name if parent else "fresh weights",
            hint="resume with the same --from, or start again with --overwrite",
        )


def _shared_changes(target: Recipe, changes: Sequence[str]) -> list[str]:
    """Return changes of the first stage's recipe, after which the target can load all weights."""
    tree = target.model_dump(mode="json")
    sections = {**tree, "train.lora": tree["train"]["lora"]}
    architecture = [change for change in changes if change.strip().startswith("model.")]
    return architecture + [
        f"{section}.{key}={json.dumps(sections[section][key])}"
        for section, keys in SHARED.items()
        for key in keys
    ]


def mix(tables: Sequence[Sequence[Example]], seed: int) -> list[Example]:
    """Return the texts of all tables, balanced so that no class of a table exceeds MOST_TO_ONE."""
    mixed: list[Example] = []
    for number, table in enumerate(tables):
        by_label: defaultdict[str, list[int]] = defaultdict(list)
        for index, example in enumerate(table):
            by_label[example.label].append(index)
        chosen: list[int] = []
        for label, found in by_label.items():
            others, classes = len(table) - len(found), len(by_label) - 1
            most = math.ceil(MOST_TO_ONE * others / classes) if classes else len(found)
            draw = rng(seed, "others", number, label)
            chosen += found if len(found) <= most else draw.choice(found, most, False).tolist()
        mixed += [table[index] for index in sorted(chosen)]
    return mixed

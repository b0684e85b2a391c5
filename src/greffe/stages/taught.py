"""Labels of others before one's own: a fine-tuning inside the folder of the one that follows.

What comes of it is a run of its own, `taught/`, onto which more than one task can be grafted.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from greffe.data.tables import Example, label_order, split_examples
from greffe.data.text import ReadOptions
from greffe.errors import DataError, RecipeError
from greffe.progress import notice
from greffe.recipe_files import load_recipe
from greffe.run import TAUGHT, RunDirectory
from greffe.seeding import rng
from greffe.stages.companions import open_companions
from greffe.stages.finetune import finetune
from greffe.stages.folders import check_same_data, run_folder
from greffe.stages.labelled import Examples, data_hash, load_examples
from greffe.world import World

TEACH, GRAFT = "teach", "graft"
"""The recipes of both; the second is what the taught run itself says of fine-tunings from it."""
MOST_TO_ONE = 2.5
"""Of one table, at most so many texts of a class for one of the other classes: twenty praises for
each complaint teach little and take most of the time."""
WATCHED_SHARE, MOST_WATCHED = 0.02, 1000
"""What is held out of the texts of others: watched, and never chosen by."""
MACHINE = ("train.threads", "train.compile")
"""Changes that are about the machine, and so concern both fine-tunings."""


@dataclass(frozen=True)
class Taught:
    """A base that has learnt the labels of others, and the hashes of their tables."""

    run: RunDirectory
    hashes: dict[str, str]


def teach_first(
    also: Sequence[Examples],
    out: str | Path,
    *,
    known: Sequence[Examples],
    parent: RunDirectory | None = None,
    like: RunDirectory | None = None,
    seed: int | None = None,
    ngrams: bool = False,
    changes: Sequence[str] = (),
    options: ReadOptions | None = None,
    new_head: bool = False,
    show_tensors: bool = False,
    overwrite: bool = False,
    resume: bool = False,
) -> Taught:
    """Take the folder `out` and teach the tables `also` in it, all but texts of the tables `known`.

    Whoever is grafted onto it goes on in the same folder.
    """
    model_of = parent or like
    if model_of is None:
        raise RecipeError(
            "Labels of others are taught to a model whose shape is known.",
            expected="--also with --from RUN, or with --scratch --like RUN",
            found="--also with --scratch alone",
        )
    reading = options or ReadOptions()
    own = [example for table in known for example in load_examples(table, reading)]
    others = open_companions(also, label_order(one.label for one in own), reading, own)
    chosen_seed = model_of.recipe().seed if seed is None else seed
    mixed = mix(others.tables, chosen_seed)
    share = min(WATCHED_SHARE, MOST_WATCHED / len(mixed))
    lessons, watched = split_examples(mixed, share, chosen_seed)
    if not watched:
        raise DataError(
            "There are too few labelled texts of others to learn from.",
            expected="two different texts of a class at least",
            found=f"{len(mixed)} texts",
            hint="leave --also out",
        )

    given = [table for table in (*known, *also) if isinstance(table, str | Path)]
    sources = [*given, model_of.path]
    with run_folder(
        out, World.join(), overwrite=overwrite, resume=resume, sources=sources
    ) as folder:
        taught = RunDirectory(folder.path / TAUGHT)
        hashes = {"train": data_hash(lessons), "valid": data_hash(watched), **others.hashes}
        check_same_data(taught, hashes)  # also if it is finished and not trained again
        taken = f"{len(mixed):,} texts"
        if len(mixed) < others.texts:
            taken = f"{len(mixed):,} of {others.texts:,} texts, so that no class prevails"
        notice(f"first the labels of others ({taken}), then one's own")
        finetune(
            lessons,
            taught.path,
            parent=parent,
            like=like,
            recipe=TEACH,
            valid=watched,
            seed=seed,
            ngrams=ngrams,
            changes=[change for change in changes if change.partition("=")[0].strip() in MACHINE],
            learnt_before=others.hashes,
            afterwards=load_recipe(GRAFT),
            new_head=new_head,
            show_tensors=show_tensors,
            resume=True,
        )
    return Taught(taught, others.hashes)


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

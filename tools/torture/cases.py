"""Cases: their names, the order in which they are run, and who runs them."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Iterator, Sequence

from tools.torture.beside import BESIDE, run_beside
from tools.torture.disturbed import PointKind, all_points, run_disturbed
from tools.torture.tally import Case, Tally
from tools.torture.workshop import Undisturbed, Workshop

READERS = 20
"""Trainings with a reader beside them: together more than 2,000 reads."""
CHAINS = 30
"""Random chains of each verb before the kills at every point begin."""
KILLS = 10
"""Kills at a point for each verb, on average, before those at every point."""
DISKS = 3
"""Full disks for each verb."""


def schedule(workshop: Workshop, seed: int, *, can_mount: bool) -> Iterator[Case]:
    """Yield cases without end.

    First readers, failing writes at every different point, kills at some, random chains and full
    disks; one of each kind for each verb at the very beginning. Then kills at all different points,
    then all other points, then random chains for as long as there is time.
    """
    draw = random.Random(f"{seed} schedule")
    known = _disturbed(workshop)
    names = [each.verb.name for each in known]
    writes, writes_alike = _points(known, "fail")
    kills, kills_alike = _points(known, "kill")
    chains = [Case(name, "empty", "chain", number) for name in names for number in range(CHAINS)]
    disks = [Case(name, "empty", "disk", number) for name in names for number in range(DISKS)]
    draw.shuffle(kills)
    early, later = kills[: KILLS * len(names)], kills[KILLS * len(names) :]
    first = _beside(names) + writes + early + chains + (disks if can_mount else [])
    for cases in (first, later, writes_alike + kills_alike):
        yield from _spread(cases, draw)
    for number in itertools.count(CHAINS):
        yield from (Case(name, "empty", "chain", number) for name in names)


def every_write(workshop: Workshop) -> Iterator[Case]:
    """Yield a failing write at every point of every verb once: the different points first."""
    different, alike = _points(_disturbed(workshop), "fail")
    yield from different
    yield from alike


def _disturbed(workshop: Workshop) -> list[Undisturbed]:
    return [known for known in workshop.undisturbed.values() if known.is_disturbed]


def _spread(cases: Sequence[Case], draw: random.Random) -> list[Case]:
    """Return the cases in an order in which every kind of every verb is spread over the time."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.verb, case.kind), []).append(case)
    times: dict[Case, float] = {}
    for group in groups.values():
        first, *others = draw.sample(group, len(group))
        times |= {first: 0.0} | {case: draw.random() for case in others}
    return sorted(times, key=times.__getitem__)


def _points(known: Sequence[Undisturbed], kind: PointKind) -> tuple[list[Case], list[Case]]:
    """Return the points of all verbs: those that differ, and those like them."""
    different, alike = zip(*(all_points(each, kind) for each in known), strict=True)
    return list(itertools.chain(*different)), list(itertools.chain(*alike))


def _beside(names: Sequence[str]) -> list[Case]:
    return [
        Case(verb, "beside", companion, number)
        for verb, companion in BESIDE
        if verb in names
        for number in range(READERS if companion == "predict" else READERS // 4)
    ]


def run_case(case: Case, workshop: Workshop, seed: int) -> Tally:
    """Run a case in a new folder, which is kept only if something is wrong."""
    tally = Tally(case)
    folder = workshop.folder / "cases" / str(case).replace(":", "-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    draw = random.Random(f"{seed} {case}")
    run = run_beside if case.scene == "beside" else run_disturbed
    run(case, workshop, draw, folder, tally)
    if not workshop.are_inputs_unchanged():
        tally.blame("lost inputs", "an input of the command was changed")
    if not tally.problems:
        shutil.rmtree(folder)
    return tally

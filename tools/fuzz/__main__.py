"""Read many changed inputs and report every problem: `python -m tools.fuzz --inputs 50000`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random

from tools.fuzz.all_targets import TARGETS
from tools.fuzz.pool import Job, run_jobs
from tools.fuzz.tally import Tally
from tools.fuzz.targets import Target
from tools.fuzz.world import world_folder

CORPUS = Path(__file__).parents[2] / "tests" / "fuzz" / "corpus"
"""Inputs that once showed a problem, in a folder for each target."""


def main() -> None:
    """Read the inputs; exit with code 1 if any of them shows a problem."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=50_000, help="number of changed inputs")
    parser.add_argument("--seed", type=int, default=1, help="other changes for each seed")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--processes", type=int, default=2, help="inputs read at the same time")
    parser.add_argument("--only", action="append", choices=sorted(TARGETS), help="this target")
    parser.add_argument("--replay", action="store_true", help=f"first read those of {CORPUS.name}/")
    parser.add_argument("--out", type=Path, default=Path("runs/fuzz"), help="folder for problems")
    parser.add_argument("--shrink", action="store_true", help="make inputs with problems smaller")
    chosen = parser.parse_args()
    targets = [TARGETS[name] for name in chosen.only or TARGETS]
    tally = Tally()
    with world_folder() as world:
        if chosen.replay:
            tally.add_all(run_jobs(_example_jobs(targets, world), world, chosen.processes))
            tally.require_success(targets)
            tally.add_all(run_jobs(_found_jobs(targets), world, chosen.processes))
        jobs = islice(_changed_jobs(targets, world, chosen.seed), chosen.inputs)
        tally.add_all(run_jobs(_until(jobs, 60 * chosen.minutes), world, chosen.processes))
        print(tally.table())
        tally.save(chosen.out, world, smaller=chosen.shrink)
    sys.exit(1 if tally.first else 0)


def _example_jobs(targets: Sequence[Target], world: Path) -> Iterator[Job]:
    """Yield the unchanged examples, each with every action."""
    for target in targets:
        yield from _with_every_action(target, target.examples(world))


def _found_jobs(targets: Sequence[Target]) -> Iterator[Job]:
    """Yield the inputs of the corpus, each with every action."""
    for target in targets:
        paths = sorted((CORPUS / target.name).glob("*"))
        yield from _with_every_action(target, (path.read_bytes() for path in paths))


def _with_every_action(target: Target, inputs: Iterable[bytes]) -> Iterator[Job]:
    for data in inputs:
        yield from (Job(target, data, action) for action in range(len(target.actions(data))))


def _changed_jobs(targets: Sequence[Target], world: Path, seed: int) -> Iterator[Job]:
    """Yield changed inputs of all targets without end, in a random order."""
    random = Random(f"{seed} order")
    inputs = [target.inputs(world, seed) for target in targets]
    weights = [target.weight for target in targets]
    while True:
        (place,) = random.choices(range(len(targets)), weights)
        yield Job(targets[place], next(inputs[place]))


def _until(jobs: Iterable[Job], seconds: float) -> Iterator[Job]:
    end = time.monotonic() + seconds
    for job in jobs:
        if time.monotonic() > end:
            return
        yield job


if __name__ == "__main__":
    main()

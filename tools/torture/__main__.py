"""Run cases for some minutes, or a number of them, and print what happened."""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tools.torture.cases import every_write, run_case, schedule
from tools.torture.disturbed import can_mount
from tools.torture.processes import load_modules
from tools.torture.tally import Case, Tally, summary, table
from tools.torture.verbs import VERBS
from tools.torture.workshop import open_workshop

MEMORY = Path("/dev/shm")
"""A file system in memory, where it exists: killing a process does the same there, only faster."""
EVERY = 10.0
"""Seconds between two lines of progress."""


def main() -> int:
    """Return 0 if every case ended as it should."""
    options = _arguments()
    load_modules()
    folder = Path(
        tempfile.mkdtemp(prefix="greffe-torture-", dir=MEMORY if MEMORY.is_dir() else None)
    )
    print(f"torture: seed {options.seed}, in {folder}", flush=True)
    deadline = time.monotonic() + 60 * options.minutes
    names = [options.only.verb] if options.only else options.verbs
    workshop = open_workshop(folder, names)
    if options.only:
        cases = iter([options.only] * options.times)
    elif options.every_write:
        cases = every_write(workshop)
    else:
        cases = schedule(workshop, options.seed, can_mount=can_mount(folder / "disk"))
    run = partial(run_case, workshop=workshop, seed=options.seed)
    tallies = []
    jobs = 1 if options.only else options.jobs  # a case has one folder
    for tally in _run_all(run, itertools.islice(cases, options.cases), jobs, deadline):
        tallies.append(tally)
        for problem in tally.problems:
            print(f"{tally.case}: {problem}", flush=True)
        if tally.problems:
            print(f"  again: python -m tools.torture --seed {options.seed} --only {tally.case}")
    print(table(tallies))
    is_good = not any(tally.problems for tally in tallies)
    if is_good:
        shutil.rmtree(folder)
    print(f"{summary(tallies)}{'' if is_good else f'; what was left is in {folder}'}")
    return 0 if is_good else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to go on")
    parser.add_argument("--cases", type=int, help="how many cases at most")
    parser.add_argument("--seed", type=int, default=1, help="decides the cases and their order")
    parser.add_argument("--jobs", type=int, default=2, help="cases at the same time")
    parser.add_argument("--only", type=Case.parse, help="the one case to repeat, by its name")
    parser.add_argument("--times", type=int, default=1, help="with --only: how often")
    parser.add_argument(
        "--every-write", action="store_true", help="fail each write of each verb once, then stop"
    )
    every = [verb.name for verb in VERBS]
    parser.add_argument("--verbs", nargs="+", choices=every, default=every, help="only these")
    return parser.parse_args()


def _run_all(
    run: partial[Tally], cases: Iterator[Case], jobs: int, deadline: float
) -> Iterator[Tally]:
    """Yield the tally of each case as it ends; none is started after the deadline."""
    tallies: list[Tally] = []
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        running: set[Future[Tally]] = set()
        shown = time.monotonic()
        while True:
            while len(running) < jobs and time.monotonic() < deadline:
                if (case := next(cases, None)) is None:
                    break
                running.add(pool.submit(run, case))
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                tallies.append(future.result())
                yield tallies[-1]
            if time.monotonic() - shown >= EVERY:
                shown = time.monotonic()
                left = max(0, round(deadline - shown))
                print(f"{summary(tallies)}; {left // 60}:{left % 60:02} left", flush=True)


if __name__ == "__main__":
    sys.exit(main())

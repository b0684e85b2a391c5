"""`python -m benchmarks`: reads the options, runs the cases, prints and keeps what was found.

Contenders work in processes of their own, which inherit the number of threads from here.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.cases import CASES, Case
from benchmarks.settings import Settings
from benchmarks.timing import Results, Sample, interleave
from benchmarks.worker import Worker

RESULTS = Path(__file__).parent / "results"
THREADS_OF = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for; a goal that is not reached is reported and fails nothing."""
    options = read_options(arguments)
    for variable in THREADS_OF:
        os.environ[variable] = str(options.threads)
    # Models are built from their configuration: nothing is ever looked up.
    os.environ["HF_HUB_OFFLINE"] = "1"
    chosen = [case for case in CASES if (case.name in options.only or not options.only)]
    if not options.only:
        chosen = [case for case in chosen if case.is_default]

    from benchmarks import chart, report
    from benchmarks.machine import describe

    machine = describe(options.threads)
    print("\n".join(f"{name:<10} {value}" for name, value in machine.items()), flush=True)
    with tempfile.TemporaryDirectory(prefix="greffe-benchmarks-") as scratch:
        settings = Settings(
            rounds=options.rounds,
            threads=options.threads,
            quick=options.quick,
            scratch=scratch,
            corpus_small=options.corpus_small,
            corpus_large=options.corpus_large,
            corpus_steps=options.corpus_steps,
        )
        found = run_cases(chosen, settings)

    out = options.out or default_folder(options)
    asked = {"rounds": options.rounds, "quick": options.quick}
    report.write(out / "latest.json", report.as_json(machine, asked, found))
    chart.draw(found, machine, options.rounds, out / "latest.png")
    print(f"\n{report.contenders_table(found)}\n\n{report.goals_table(found)}")
    if options.quick:
        print("\nThese were tiny sizes: everything runs, but the figures say nothing.")
    print(f"\nkept in {out}")


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    from greffe.machine import cores

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="greffe beside what one would use otherwise"
    )
    add = parser.add_argument
    add("--only", nargs="+", metavar="NAME", default=[], choices=[case.name for case in CASES],
        help=f"these cases alone: {', '.join(case.name for case in CASES)}")  # fmt: skip
    add("--rounds", type=int, default=5, help="rounds in which contenders take turns (5)")
    add("--threads", type=int, default=cores(), help="compute threads (one a core)")
    add("--quick", action="store_true", help="tiny sizes: does everything run?")
    add("--out", type=Path, metavar="DIR", help="where latest.json and latest.png go")
    add("--corpus-small", default="", metavar="PATH", help="for corpus-memory")
    add("--corpus-large", default="", metavar="PATH", help="for corpus-memory")
    add("--corpus-steps", type=int, default=50, metavar="N", help="for corpus-memory (50)")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads are at least 1")
    return options


def default_folder(options: argparse.Namespace) -> Path:
    """Only a complete run of the real sizes replaces the figures that are kept."""
    if options.quick:
        return RESULTS / "quick"
    return RESULTS / "partial" if options.only else RESULTS


def run_cases(chosen: Sequence[Case], settings: Settings) -> dict[Case, Results]:
    """One case after the other; within a case contenders take turns."""
    progress = Progress(chosen, settings)
    found = {}
    for case in chosen:
        progress.begin(case)
        with ExitStack() as open_workers:
            workers = {
                name: open_workers.enter_context(Worker(case.module, name, settings))
                for name in case.contenders()
            }
            samples = interleave(workers, case.rounds(settings), progress.said)
        found[case] = Results(case.unit, case.less_is_better, samples)
        progress.end()
    return found


class Progress:
    """Lines on standard error: what, how far, how long still."""

    def __init__(self, chosen: Sequence[Case], settings: Settings) -> None:
        self.settings = settings
        self.expected = {case.name: case.round_seconds * case.rounds(settings) for case in chosen}
        self.done = 0.0
        self.began = time.monotonic()

    def begin(self, case: Case) -> None:
        """A case is being set up."""
        self.case = case
        self.say(f"{case.name}: {case.title}; setting up")

    def said(self, number: int, name: str, sample: Sample) -> None:
        """A contender has run its piece of a round."""
        from benchmarks.report import figure

        rounds = self.case.rounds(self.settings)
        self.say(
            f"{self.case.name}: round {number + 1} of {rounds}, {name}: "
            f"{figure(sample.value)} {self.case.unit}{self.left(number / rounds)}"
        )

    def end(self) -> None:
        """A case has all its rounds."""
        self.done += self.expected[self.case.name]

    def left(self, share: float) -> str:
        """What is left, by how long the cases were expected to take and what they took so far."""
        from greffe.progress import format_seconds

        done = self.done + share * self.expected[self.case.name]
        if not done:
            return ""
        elapsed = time.monotonic() - self.began
        rest = (sum(self.expected.values()) - done) * elapsed / done
        return f" · about {format_seconds(rest)} left"

    def say(self, text: str) -> None:
        """One line at once."""
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

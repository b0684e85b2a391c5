"""`python -m benchmarks`: read the options, run the cases, print and save the results.

Contenders run in separate processes, which inherit the number of threads from this one.
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
from benchmarks.settings import THREADS_OF, Settings
from benchmarks.timing import Results, Sample, interleave
from benchmarks.worker import Worker

RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the requested cases; a missed goal is reported but is not an error."""
    options = read_options(arguments)
    for variable in THREADS_OF:
        os.environ[variable] = str(options.threads)
    # Models are built from their configuration: nothing is downloaded.
    os.environ["HF_HUB_OFFLINE"] = "1"
    chosen = [case for case in CASES if (case.name in options.only or not options.only)]
    if not options.only:
        chosen = [case for case in chosen if case.is_default]

    from benchmarks import chart, report
    from benchmarks.machine import bf16_speed, describe, slug

    machine = describe(options.threads)
    speed = bf16_speed(options.threads)
    has_bf16 = speed > 1
    machine["bf16"] = f"matrix products at {speed:.2g} times the speed of fp32" + (
        "" if has_bf16 else ": the rows in bf16 are left out"
    )
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
            has_bf16=has_bf16,
        )
        found = run_cases(chosen, settings)

    out = options.out or default_folder(options)
    asked = {"rounds": options.rounds, "quick": options.quick}
    for name in ("latest", slug(machine)):
        report.write(out / f"{name}.json", report.as_json(machine, asked, found))
        chart.draw(found, machine, options.rounds, out / f"{name}.png")
    print(f"\n{report.contenders_table(found)}\n\n{report.goals_table(found)}")
    if options.quick:
        print("\nThe sizes were too small for meaningful figures, but everything runs.")
    print(f"\nsaved in {out}")


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    from greffe.machine import cores

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="greffe compared with common alternatives"
    )
    add = parser.add_argument
    add("--only", nargs="+", metavar="NAME", default=[], choices=[case.name for case in CASES],
        help=f"run only these cases: {', '.join(case.name for case in CASES)}")  # fmt: skip
    add("--rounds", type=int, default=5, help="rounds in which contenders take turns (5)")
    add("--threads", type=int, default=cores(), help="compute threads (one per core)")
    add("--quick", action="store_true", help="tiny sizes, to check that everything runs")
    add("--out", type=Path, metavar="DIR", help="folder for latest.json and latest.png")
    add("--corpus-small", default="", metavar="PATH", help="for corpus-memory")
    add("--corpus-large", default="", metavar="PATH", help="for corpus-memory")
    add("--corpus-steps", type=int, default=50, metavar="N", help="for corpus-memory (50)")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads must be at least 1")
    return options


def default_folder(options: argparse.Namespace) -> Path:
    """Return the output folder; only a complete run at full size replaces the published results."""
    if options.quick:
        return RESULTS / "quick"
    return RESULTS / "partial" if options.only else RESULTS


def run_cases(chosen: Sequence[Case], settings: Settings) -> dict[Case, Results]:
    """Run one case after the other; within a case, contenders take turns."""
    progress = Progress(chosen, settings)
    found = {}
    for case in chosen:
        progress.begin(case)
        with ExitStack() as open_workers:
            workers = {
                name: open_workers.enter_context(Worker(case.module, name, settings))
                for name in case.contenders(has_bf16=settings.has_bf16)
            }
            samples = interleave(workers, case.rounds(settings), progress.finished_round)
        found[case] = Results(case.unit, case.less_is_better, samples)
        progress.end()
    return found


class Progress:
    """Progress lines on standard error with the remaining time."""

    def __init__(self, chosen: Sequence[Case], settings: Settings) -> None:
        self.settings = settings
        self.expected = {case.name: case.round_seconds * case.rounds(settings) for case in chosen}
        self.done = 0.0
        self.began = time.monotonic()

    def begin(self, case: Case) -> None:
        """Report that a case is being set up."""
        self.case = case
        self.say(f"{case.name}: {case.title}; setting up")

    def finished_round(self, number: int, name: str, sample: Sample) -> None:
        """Report that a contender has finished a round."""
        from benchmarks.report import figure

        rounds = self.case.rounds(self.settings)
        self.say(
            f"{self.case.name}: round {number + 1} of {rounds}, {name}: "
            f"{figure(sample.value)} {self.case.unit}{self.left(number / rounds)}"
        )

    def end(self) -> None:
        """Note that all rounds of a case are done."""
        self.done += self.expected[self.case.name]

    def left(self, fraction: float) -> str:
        """Estimate the remaining time from the expected and the elapsed time of the cases."""
        from greffe.progress import format_seconds

        done = self.done + fraction * self.expected[self.case.name]
        if not done:
            return ""
        elapsed = time.monotonic() - self.began
        rest = (sum(self.expected.values()) - done) * elapsed / done
        return f" · about {format_seconds(rest)} left"

    def say(self, text: str) -> None:
        """Print one line immediately."""
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

"""Cases of several processes: readers beside a writer, two writers into one folder."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from greffe import api, progress
from greffe.errors import RunError
from tools.torture.disturbed import compare_output
from tools.torture.processes import TOO_LONG, Command
from tools.torture.tally import Case, Tally
from tools.torture.verbs import OUT
from tools.torture.workshop import Workshop

BESIDE = (
    *(("finetune", "predict"), ("finetune", "evaluate"), ("finetune", "report")),
    *(("finetune", "writer"), ("compare", "report")),
)
"""The verbs that write, and what is done beside them."""
READ_AFTER_THE_END = 3
# Every step is saved, every second one evaluated: the files change as often as they can.
_RESTLESS = (
    *("--budget", "120steps", "--set", "train.checkpoint_every=1steps"),
    *("--set", "train.evaluate_every=2steps", "--set", "train.lr=1e-3"),
)
TEXTS = ["Une merveille, je le relirai.", "Quel ennui."]


def run_beside(
    case: Case, workshop: Workshop, draw: random.Random, folder: Path, tally: Tally
) -> None:
    """Run a writer, and beside it a reader or another writer."""
    if case.kind == "writer":
        _two_writers(workshop, draw, folder, tally)
        return
    verb = workshop.undisturbed[case.verb].verb
    words = verb.command(workshop.inputs, *(_RESTLESS if case.verb == "finetune" else ()))
    reads = {"predict": _predict, "evaluate": _evaluator(workshop), "report": _report}
    _read_beside(words, reads[case.kind], folder, tally)


# --- readers --------------------------------------------------------------------------------------


def _predict(out: Path) -> None:
    """Label two texts with the weights that are there."""
    for prediction in api.load(out).predict(TEXTS):
        assert all(math.isfinite(value) for value in prediction.probabilities.values())


def _evaluator(workshop: Workshop) -> Callable[[Path], None]:
    def evaluate(out: Path) -> None:
        found = api.load(out).evaluate(workshop.inputs / "valid.tsv")
        assert math.isfinite(found.accuracy)

    return evaluate


def _report(out: Path) -> None:
    """Build a report from what is there, elsewhere."""
    assert api.report(out, out.parent / "report").stat().st_size


def _read_beside(
    words: list[str], read: Callable[[Path], None], folder: Path, tally: Tally
) -> None:
    """Read in a loop while the command writes; from the first success on, no read may fail."""
    writer = Command(words, folder)
    reader = os.fork()
    if reader == 0:
        _be_reader(read, folder)
    ending = writer.wait()
    (folder / "ended").touch()
    if ending.code:
        tally.blame("unexplained", f"the writer failed: {ending.err[-500:]}")
    deadline = time.monotonic() + TOO_LONG
    while os.waitpid(reader, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(reader, signal.SIGKILL)
        time.sleep(0.01)
    counted = folder / "reads.json"
    if not counted.exists():
        tally.blame("failed reads", "the reader died")
        return
    good, failures = json.loads(counted.read_text("utf-8"))
    tally.counts["reads"] += good
    for failed in failures:
        tally.blame("failed reads", failed)


def _be_reader(read: Callable[[Path], None], folder: Path) -> NoReturn:
    """Be the reader, in a process that was just forked."""
    try:
        progress.silence()
        sys.stdout = sys.stderr = (folder / "reader").open("w", encoding="utf-8")
        counted = _read_until_ended(read, folder)
        (folder / "reads.json").write_text(json.dumps(counted), "utf-8")
    finally:
        os._exit(0)


def _read_until_ended(read: Callable[[Path], None], folder: Path) -> tuple[int, list[str]]:
    """Return how many reads succeeded, and what was wrong with the others."""
    good = after_the_end = 0
    failed: list[str] = []
    while after_the_end < READ_AFTER_THE_END:
        after_the_end += (folder / "ended").exists()
        try:
            read(folder / OUT)
            good += 1
        except RunError as error:
            if good or after_the_end:
                failed.append(str(error))
            else:
                time.sleep(0.01)  # nothing to read yet
        except Exception as error:  # whatever else a reader meets is a fault as well
            failed.append(f"{type(error).__name__}: {error}")
    return good, failed


# --- two writers ----------------------------------------------------------------------------------


def _two_writers(workshop: Workshop, draw: random.Random, folder: Path, tally: Tally) -> None:
    """Start the same command twice, a moment apart: one writes, the other is refused or waits."""
    known = workshop.undisturbed["finetune"]
    options = [draw.choice(("--resume", "--overwrite")) for _ in range(2)]
    pause = draw.choice((0.0, draw.uniform(0, known.seconds)))
    commands = [known.verb.command(workshop.inputs, option) for option in options]
    first = Command(commands[0], folder, name="first")
    time.sleep(pause)
    second = Command(commands[1], folder, name="second")
    endings = [command.wait() for command in (first, second)]
    for ending in endings:
        if ending.is_traceback:
            tally.blame("tracebacks", ending.err[-1500:])
        elif ending.code == 3:
            tally.counts["refusals"] += 1
        elif ending.code:
            tally.blame("unexplained", f"exit code {ending.code}: {ending.err[-500:]}")
    if all(ending.code for ending in endings):
        tally.blame("unexplained", "both writers were refused")
    compare_output(known, folder / OUT, tally)

"""Cases of one command: killed or failing once or several times, then run until it is done."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tools.torture.fingerprint import differences, fingerprint
from tools.torture.processes import BLOWS, Command, Ending, Moment
from tools.torture.tally import Case, Tally
from tools.torture.verbs import OUT
from tools.torture.watch import ALLOCATING, Act, Aim
from tools.torture.workshop import Undisturbed, Workshop, first_option

PointKind = Literal["kill", "fail"]
FAILURES: tuple[Act, ...] = ("full", "broken", "denied")
RANDOM_ACTS: tuple[Act, ...] = ("kill", "kill", "kill", "kill", "terminate", "interrupt", *FAILURES)
ALIKE = 2
"""Points at the same operation on one of many files that count as different."""
NUMBERED = re.compile(r"(?<=tables/)\S+|(?<=cells/)\S+|(?<=runs/)[^/]+|\d+")
"""What tells one of many files from the others: steps, shards, tables, cells, process ids."""
LONGEST_CHAIN = 4
FRESH = 0.15
"""Fraction of the random disturbances that hit a fresh process: these take the longest."""
FRESH_START = 3.0
"""Seconds that a fresh process takes to load its libraries."""
REWRITTEN = "study.json"
"""A finished study that is run again is marked as running until its report is written."""


def all_points(known: Undisturbed, kind: Literal["kill", "fail"]) -> tuple[list[Case], list[Case]]:
    """Return a case for every point where a verb can be killed, or where a write can fail.

    The first list has those that differ, the second one those like them: the same operation on
    the next of many numbered files.
    """
    different: list[Case] = []
    alike: list[Case] = []
    for start, operations in known.operations.items():
        # What --overwrite does after emptying the folder, it does in an empty folder as well.
        emptying = len(operations) - len(known.operations["empty"]) + 2
        seen: Counter[str] = Counter()
        for number, operation in enumerate(operations):
            if kind == "fail" and operation.split()[0] not in ALLOCATING:
                continue
            if start == "overwrite" and number > emptying:
                break
            name = NUMBERED.sub("*", operation)
            seen[name] += 1
            chosen = different if seen[name] <= ALIKE else alike
            chosen.append(Case(known.verb.name, start, kind, number))
    return different, alike


def run_disturbed(
    case: Case, workshop: Workshop, draw: random.Random, folder: Path, tally: Tally
) -> None:
    """Disturb the command, then run it until it is done and compare what it wrote."""
    known = workshop.undisturbed[case.verb]
    if case.scene != "empty":
        shutil.copytree(known.out, folder / OUT)
    if case.kind == "disk":
        _fill_disk(known, workshop, draw, folder, tally)
    else:
        _disturb(case, workshop, draw, folder, tally)
        _finish(known, workshop, folder, tally)


# --- disturbances ---------------------------------------------------------------------------------


def _disturb(
    case: Case, workshop: Workshop, draw: random.Random, folder: Path, tally: Tally
) -> None:
    """Start the command, and start it again after each disturbance but the last."""
    known = workshop.undisturbed[case.verb]
    option = first_option(known.verb, case.scene)
    for number in range(draw.randint(1, LONGEST_CHAIN) if case.kind == "chain" else 1):
        words = known.verb.command(workshop.inputs, option if number == 0 else known.verb.again)
        aim, moment, fresh = _disturbance(case, known, draw)
        ending = Command(words, folder, aim, fresh=fresh).wait(moment)
        tally.counts["resumed"] += number > 0
        tally.counts["fresh"] += fresh
        _count(aim, moment, ending, tally)
        _check_ending(ending, tally, is_failing=case.kind == "fail")
        if case.scene == "finished":
            _check_kept(known, folder, tally)
        if ending.code == 0:
            return


def _disturbance(
    case: Case, known: Undisturbed, draw: random.Random
) -> tuple[Aim | None, Moment | None, bool]:
    """Return what happens to one attempt, before an operation or at a moment; if it is fresh."""
    if case.kind == "kill":
        return Aim("kill", case.number), None, False
    if case.kind == "fail":
        return Aim(draw.choice(FAILURES), case.number), None, False
    if draw.random() < 0.5:
        return (
            Aim(draw.choice(RANDOM_ACTS), draw.randrange(len(known.operations["empty"]))),
            None,
            False,
        )
    fresh = draw.random() < FRESH
    longest = 1.2 * known.seconds + (FRESH_START if fresh else 0.0)
    return None, Moment(draw.choice(BLOWS), draw.uniform(0, longest)), fresh


def _count(aim: Aim | None, moment: Moment | None, ending: Ending, tally: Tally) -> None:
    if aim is not None and aim.act in FAILURES:
        tally.counts["writes"] += ending.code != 0
    elif aim is not None and aim.act == "kill":
        tally.counts["aimed"] += ending.code < 0
    elif aim is not None:
        tally.counts["SIGTERM" if aim.act == "terminate" else "SIGINT"] += ending.code != 0
    elif moment is not None and ending.is_hit:
        tally.counts[moment.blow] += ending.code != 0


def _check_ending(ending: Ending, tally: Tally, *, is_failing: bool) -> None:
    if ending.hangs:
        tally.blame("hangs", f"no end after {ending.seconds:.0f} seconds")
    if ending.is_traceback:
        tally.blame("tracebacks", ending.err[-1500:])
    elif is_failing and ending.code and not ending.is_explained:
        tally.blame("unexplained", f"exit code {ending.code}: {ending.err[-500:]}")


def _check_kept(known: Undisturbed, folder: Path, tally: Tally) -> None:
    """A finished output that was to be left as it is must be whole at every moment."""
    wrong, _ = differences(known.files, fingerprint(folder / OUT, is_exact=known.verb.is_exact))
    if lost := [name for name in wrong if name != REWRITTEN]:
        tally.blame("mismatches", f"a finished output lost {', '.join(lost[:5])}")


# --- the end --------------------------------------------------------------------------------------


def _finish(known: Undisturbed, workshop: Workshop, folder: Path, tally: Tally) -> None:
    """Run the command until it is done, and compare."""
    words = known.verb.command(workshop.inputs, known.verb.again)
    ending = Command(words, folder).wait()
    tally.counts["resumed"] += 1
    _check_ending(ending, tally, is_failing=False)
    if ending.code:
        tally.blame("unexplained", f"cannot be finished: {ending.err[-500:]}")
        return
    compare_output(known, folder / OUT, tally)


def compare_output(known: Undisturbed, out: Path, tally: Tally) -> None:
    """Compare an output with the undisturbed one, file by file."""
    wrong, extra = differences(known.files, fingerprint(out, is_exact=known.verb.is_exact))
    if wrong:
        tally.blame("mismatches", ", ".join(wrong[:5]))
    if extra:
        tally.blame("leftovers", ", ".join(extra[:5]))
    tally.counts["identical"] += not wrong and not extra


# --- a full disk ----------------------------------------------------------------------------------


def _fill_disk(
    known: Undisturbed, workshop: Workshop, draw: random.Random, folder: Path, tally: Tally
) -> None:
    """Run the command on a disk that is too small; enlarge it; run it again."""
    needed = sum(path.stat().st_size for path in known.out.rglob("*") if path.is_file())
    with small_disk(folder / OUT, draw.randrange(4096, max(needed, 8192))):
        words = known.verb.command(workshop.inputs)
        ending = Command(words, folder).wait()
        tally.counts["full disks"] += ending.code != 0
        _check_ending(ending, tally, is_failing=True)
        _mount("-o", "remount,size=256m", str(folder / OUT))
        _finish(known, workshop, folder, tally)


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """Mount a file system of a few kilobytes in memory on a new folder."""
    folder.mkdir(parents=True)
    _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def can_mount(folder: Path) -> bool:
    """Return whether this user may mount a small file system."""
    try:
        with small_disk(folder, 8192):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)

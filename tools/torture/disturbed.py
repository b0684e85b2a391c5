"""Cases of one command: killed or failing once or several times, then run until it is done."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools.torture.fingerprint import differences, fingerprint
from tools.torture.processes import BLOWS, Command, Ending, Moment
from tools.torture.tally import Case, Count, Tally
from tools.torture.verbs import OUT
from tools.torture.watch import ALLOCATING, Act, Aim
from tools.torture.workshop import Undisturbed, Workshop, first_option

PointKind = Literal["kill", "fail"]
FAILURES: tuple[Act, ...] = ("full", "broken", "denied")
RANDOM_ACTS: tuple[Act, ...] = (*("kill",) * 5, "terminate", "interrupt", *FAILURES)
ALIKE = 2
"""Points at the same operation on one of many files that count as different."""
NUMBERED = re.compile(r"(?<=tables/)\S+|(?<=cells/)\S+|(?<=runs/)[^/]+|\d+")
"""What tells one of many files from the others: steps, shards, tables, cells, process ids."""
COUNTED_AS: dict[Act, Count] = {
    "kill": "aimed",
    "terminate": "SIGTERM",
    "interrupt": "SIGINT",
    **dict.fromkeys(FAILURES, "writes"),
}
SHORTEST_CHAIN, LONGEST_CHAIN = 2, 5
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
    for number in range(draw.randint(SHORTEST_CHAIN, LONGEST_CHAIN) if case.kind == "chain" else 1):
        words = known.verb.command(workshop.inputs, option if number == 0 else known.verb.again)
        planned = _plan(case, known, draw)
        ending = Command(words, folder, planned.aim, fresh=planned.fresh).wait(planned.moment)
        tally.counts["resumed"] += number > 0
        if ending.code:
            tally.counts[planned.counted_as] += planned.aim is not None or ending.is_hit
            tally.counts["fresh"] += planned.fresh
        _check_ending(ending, tally, is_failing=planned.counted_as == "writes")
        if case.scene == "finished":
            _check_kept(known, folder, tally)
        if ending.code == 0:
            return


@dataclass(frozen=True)
class _Disturbance:
    """What happens to one attempt: before an operation, or at a moment."""

    aim: Aim | None = None
    moment: Moment | None = None
    fresh: bool = False
    """Whether the command is a fresh process."""

    @property
    def counted_as(self) -> Count:
        """The count that it belongs to."""
        if self.aim is not None:
            return COUNTED_AS[self.aim.act]
        assert self.moment is not None
        return self.moment.blow


def _plan(case: Case, known: Undisturbed, draw: random.Random) -> _Disturbance:
    """Return what happens to the next attempt."""
    if case.kind == "kill":
        return _Disturbance(Aim("kill", case.number))
    if case.kind == "fail":
        return _Disturbance(Aim(draw.choice(FAILURES), case.number))
    when = draw.random() ** 2  # more often early: what is resumed ends sooner
    if draw.random() < 0.5:
        point = int(when * len(known.operations["empty"]))
        return _Disturbance(Aim(draw.choice(RANDOM_ACTS), point))
    fresh = draw.random() < FRESH
    seconds = known.seconds + (FRESH_START if fresh else 0.0)
    return _Disturbance(moment=Moment(draw.choice(BLOWS), when * seconds), fresh=fresh)


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

"""The parts of tools/torture: what it does to a process, and what it notices in a folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tools.torture.cases import every_write
from tools.torture.disturbed import all_points
from tools.torture.fingerprint import differences, fingerprint
from tools.torture.processes import Ending
from tools.torture.tally import Case, Tally, summary, table
from tools.torture.verbs import VERBS
from tools.torture.workshop import Undisturbed, Workshop

ROOT = Path(__file__).parents[2]
# Makes a folder, writes a file atomically as greffe does, and removes another.
SCRIPT = """
import json, os, sys
from pathlib import Path
from tools.torture.watch import Aim, install
folder = Path(sys.argv[1])
watch = install(folder, Aim(sys.argv[2], int(sys.argv[3])) if sys.argv[2:] else None)
(folder / "inner").mkdir()
with (folder / "new.tmp").open("wb") as file:
    file.write(b"12345678")
    file.flush()
    os.fsync(file.fileno())
(folder / "new.tmp").replace(folder / "new")
(folder / "old").unlink()
(folder.parent / "elsewhere").write_text("not watched")
print(json.dumps(watch.operations))
"""
OPERATIONS = [
    "mkdir inner",
    "open new.tmp",
    "write new.tmp",
    "fsync new.tmp",
    "rename new",
    "remove old",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "watched"
    path.mkdir()
    (path / "old").write_text("old")
    return path


def watched(folder: Path, *aim: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a process of its own: what watches it cannot be removed."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), *aim],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_every_durable_operation_is_counted(folder):
    assert json.loads(watched(folder).stdout) == OPERATIONS


@pytest.mark.parametrize(
    ("point", "left"),
    [
        (0, ["old"]),
        (1, ["inner", "old"]),
        (3, ["inner", "new.tmp", "old"]),
        (4, ["inner", "new.tmp", "old"]),
        (5, ["inner", "new", "old"]),
    ],
)
def test_a_kill_leaves_the_disk_as_it_is_before_the_operation(folder, point, left):
    assert watched(folder, "kill", str(point)).returncode == -signal.SIGKILL
    assert names(folder) == left


def test_a_kill_in_a_write_leaves_half_of_it(folder):
    watched(folder, "kill", str(OPERATIONS.index("write new.tmp")))
    assert (folder / "new.tmp").read_bytes() == b"1234"


def test_a_signal_that_is_survived_costs_no_data(folder):
    script = "import signal; signal.signal(signal.SIGTERM, lambda *_: None)" + SCRIPT
    subprocess.run(
        [sys.executable, "-c", script, str(folder), "terminate", "2"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert (folder / "new").read_bytes() == b"12345678"


@pytest.mark.parametrize(
    ("act", "number"), [("full", "Errno 28"), ("broken", "Errno 5"), ("denied", "Errno 13")]
)
@pytest.mark.parametrize("point", range(5))
def test_each_write_can_fail(folder, act, number, point):
    ended = watched(folder, act, str(point))
    assert ended.returncode == 1
    assert number in ended.stderr


# --- what is noticed ------------------------------------------------------------------------------


def test_times_and_dates_are_no_difference(tmp_path):
    for name, seconds in (("first", 1.5), ("second", 9.0)):
        place = tmp_path / name
        place.mkdir()
        (place / "run.json").write_text(json.dumps({"steps": 3, "result": {"seconds": seconds}}))
        line = json.dumps({"step": 1, "tokens_per_second": seconds})
        (place / "metrics.jsonl").write_text(f"{line}\n")
        (place / "README.md").write_text(f"seconds {seconds}")
    first, second = (fingerprint(tmp_path / name) for name in ("first", "second"))
    assert first == second
    exact = [fingerprint(tmp_path / name, is_exact=True) for name in ("first", "second")]
    assert differences(*exact) == (["README.md", "metrics.jsonl", "run.json"], [])


def test_another_value_is_a_difference_and_another_file_is_left_over(tmp_path):
    (tmp_path / "run.json").write_text('{"steps": 3}')
    (tmp_path / "weights").write_bytes(b"1")
    before = fingerprint(tmp_path)
    (tmp_path / "run.json").write_text('{"steps": 4}')
    (tmp_path / "weights").unlink()
    (tmp_path / ".weights.12.tmp").touch()
    (tmp_path / "checkpoints").mkdir()
    wrong, extra = differences(before, fingerprint(tmp_path))
    assert sorted(wrong) == ["run.json", "weights"]
    assert sorted(extra) == [".weights.12.tmp", "checkpoints"]


def ending(code: int, err: str, *, is_hit: bool = False) -> Ending:
    return Ending(code=code, err=err, seconds=1.0, operations=[], is_hit=is_hit, hangs=False)


@pytest.mark.parametrize(
    ("code", "err", "is_explained", "is_traceback"),
    [
        (3, "error: the folder is in use\n", True, False),
        (1, "Traceback (most recent call last):\n  …\nKeyError: 'a'\n", False, True),
        (1, "", False, False),
        (-9, "error: then killed", False, False),
    ],
)
def test_how_a_command_ended(code, err, is_explained, is_traceback):
    found = ending(code, err)
    assert (found.is_explained, found.is_traceback) == (is_explained, is_traceback)


def test_a_traceback_is_excused_only_after_a_signal_before_the_command_begins():
    early = 'Traceback (most recent call last):\n  File "__main__.py", line 3, in <module>\n…'
    late = 'Traceback (most recent call last):\n  File "main.py", line 62, in main\n    app()\n…'
    assert not ending(1, early, is_hit=True).is_traceback
    assert ending(1, early).is_traceback
    assert ending(1, late, is_hit=True).is_traceback


# --- cases ----------------------------------------------------------------------------------------


def test_a_case_is_repeated_by_its_name():
    case = Case("finetune", "overwrite", "kill", 37)
    assert Case.parse(str(case)) == case


def test_every_point_is_killed_at_and_only_writes_fail(tmp_path):
    steps = [f"rename checkpoints/step-{number:08}" for number in (2, 4, 6)]
    known = Undisturbed(
        verb=VERBS[0],
        out=tmp_path,
        files={},
        seconds=1.0,
        operations={"empty": ["open .lock", *steps, "remove .lock"]},
        is_disturbed=True,
    )
    different, alike = all_points(known, "kill")
    assert [case.number for case in different] == [0, 1, 2, 4]
    assert [case.number for case in alike] == [3]
    different, alike = all_points(known, "fail")
    assert [case.number for case in different + alike] == [0, 1, 2, 3]
    workshop = Workshop(tmp_path, {known.verb.name: known}, {})
    assert list(every_write(workshop)) == different + alike


def test_the_table_adds_up_the_cases_of_a_verb():
    tallies = [
        Tally(Case("linear", "empty", "kill", 1), Counter(aimed=1, identical=1)),
        Tally(Case("linear", "empty", "chain", 1), Counter(SIGINT=2, identical=1)),
        Tally(Case("report", "empty", "fail", 1), Counter(writes=1)),
    ]
    tallies[2].blame("leftovers", "tables/.a.csv.1.tmp")
    rows = {line.split("  ")[0]: line.split()[-3:] for line in table(tallies).splitlines()}
    assert rows[""] == ["linear", "report", "all"]
    assert rows["all kills"] == ["3", "0", "3"]
    assert rows["leftovers"] == ["0", "1", "1"]
    assert "3 kills" in summary(tallies)
    assert "1 faults" in summary(tallies)

"""Every kind of problem is noticed, and what is no problem is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_problems_are_noticed(tmp_path):
    (world := tmp_path / "world").mkdir()
    # In a process of its own: pytest's has threads, and is not to be copied.
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.broken_targets", world],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert json.loads(done.stdout or "{}") == {
        "crash": "crash",
        "expected_error": None,
        "error_without_message": "message",
        "not_a_number": "not a number",
        "written_infinity": "not a number",
        "changed_file": "changed files",
        "changed_output": None,
        "endless_loop": "time",
        "endless_wait": "time",
        "much_memory": "memory",
        "killed": "died",
    }, done.stderr

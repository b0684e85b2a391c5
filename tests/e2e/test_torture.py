"""A minute of the torture: kills, failing writes, readers and writers beside each other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = 49
"""One of each kind for each verb: see tools/torture/cases.py."""


@pytest.mark.alone
def test_every_disturbed_command_ends_with_the_same_files() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tools.torture", "--cases", str(CASES), "--seed", "1"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    kills, writes, reads, faults = (
        int(re.findall(rf"([\d,]+) {what}", ended.stdout)[-1].replace(",", ""))
        for what in ("kills", "failing writes", "reads", "faults")
    )
    assert kills >= 12
    assert writes >= 8
    assert reads >= 50
    assert faults == 0

"""The inputs that once showed a problem, and a few changed ones: none of them shows one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools.fuzz.__main__ import CORPUS
from tools.fuzz.all_targets import TARGETS

ROOT = Path(__file__).parents[2]
LARGEST_FILE = 1 << 16  # bytes


@pytest.mark.slow
def test_known_and_changed_inputs(tmp_path):
    command = ["-m", "tools.fuzz", "--replay", "--inputs", "400", "--seed", "7", "--out"]
    done = subprocess.run(
        [sys.executable, *command, tmp_path], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_found_input_belongs_to_a_target():
    found = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert found
    for path in found:
        assert path.parent.name in TARGETS, path
        assert path.stat().st_size <= LARGEST_FILE, path

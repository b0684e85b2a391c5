"""The time of `greffe --help` in a new process: the startup time of the command line."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.cases import GREFFE
from benchmarks.settings import Settings
from benchmarks.timing import Contender, timed_command


def greffe(_: Settings) -> Contender:
    """Build the contender; the command runs once to warm up."""
    command = [str(Path(sys.executable).with_name("greffe")), "--help"]
    return timed_command(command)


CONTENDERS = {GREFFE: greffe}

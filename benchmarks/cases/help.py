"""The time of `greffe --help` in a new process: the startup time of the command line."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.cases import GREFFE
from benchmarks.settings import Settings
from benchmarks.timing import Contender, Sample


def greffe(_: Settings) -> Contender:
    """Build the contender; the command runs once to warm up."""
    command = [str(Path(sys.executable).with_name("greffe")), "--help"]

    def run(_: int) -> Sample:
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return Sample(time.perf_counter() - began)

    run(0)
    return run


CONTENDERS = {GREFFE: greffe}

"""A study on the demo's data: six seeds, the shipped base and the same network from scratch.

`greffe compare` as a user runs it, with its baselines and its report, in a new process and into a
new folder in each round: trainings side by side with a thread each, or one after the other with all
threads.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from benchmarks.cases import GREFFE, ONE_JOB
from benchmarks.settings import THREADS_OF, Settings
from benchmarks.timing import Contender, Sample

SEEDS = 6
QUICK_SEEDS = 1


def compare(settings: Settings, jobs: int) -> Contender:
    """Build the contender that trains so many models at a time."""
    from greffe.samples.reviews import reviews_folder

    reviews, out = reviews_folder(), settings.folder("study") / f"jobs-{jobs}"
    command = [
        *(str(Path(sys.executable).with_name("greffe")), "--quiet", "compare", "greffe-fr"),
        *("--data", str(reviews / "train.tsv"), "--valid", str(reviews / "valid.tsv")),
        *("--test", str(reviews / "test.tsv"), "--out", str(out), "--jobs", str(jobs)),
        *("--seeds", str(QUICK_SEEDS if settings.quick else SEEDS)),
        *(("--budget", "1steps") if settings.quick else ()),
    ]

    # Threads are the command's own choice here: all, or its part of them for each job.
    environment = {name: value for name, value in os.environ.items() if name not in THREADS_OF}

    def run(_: int) -> Sample:
        shutil.rmtree(out, ignore_errors=True)
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        return Sample(time.perf_counter() - began)

    return run


def side_by_side(settings: Settings) -> Contender:
    """Build the contender with one training per thread."""
    return compare(settings, settings.threads)


CONTENDERS = {GREFFE: side_by_side, ONE_JOB: partial(compare, jobs=1)}

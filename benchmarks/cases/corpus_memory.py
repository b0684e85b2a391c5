"""Peak memory of `greffe pretrain` on a large and a small corpus, including all its processes.

Both are prepared corpora or texts given by the user; the settings are the same, so the ratio is the
cost of the size of the corpus. Resident memory is summed over the process and its children, sampled
many times per second.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.cases import LARGE_CORPUS, SMALL_CORPUS
from benchmarks.settings import Settings
from benchmarks.timing import Contender, Sample

if TYPE_CHECKING:
    import psutil

PAUSE = 0.02
MEGABYTE = 1e6


def pretraining(settings: Settings, name: str) -> Contender:
    """Build the contender that pretrains briefly on one of the two."""
    corpus = settings.corpus_large if name == LARGE_CORPUS else settings.corpus_small
    if not corpus:
        raise SystemExit("corpus-memory needs --corpus-small PATH and --corpus-large PATH")
    folder = settings.folder(name)
    command = [
        *(sys.executable, "-m", "greffe", "pretrain", corpus),
        *("--recipe", "tiny" if settings.quick else "small"),
        *("--budget", f"{settings.corpus_steps}steps"),
        *("--set", f"train.threads={settings.threads}"),
        *("--out", str(folder / "run"), "--overwrite"),
    ]

    def run(_: int) -> Sample:
        return Sample(peak_of_tree(command, folder / "output.txt") / MEGABYTE)

    return run


CONTENDERS = {name: partial(pretraining, name=name) for name in (SMALL_CORPUS, LARGE_CORPUS)}


def peak_of_tree(command: list[str], log: Path) -> int:
    """Run a command; return the peak resident memory of it and its children in bytes."""
    import psutil

    peak = 0
    with (
        log.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        root = psutil.Process(process.pid)
        while process.poll() is None:
            peak = max(peak, _resident(root))
            time.sleep(PAUSE)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{log.read_text()}")
    return peak


def _resident(root: psutil.Process) -> int:
    """Return the resident bytes of a process and its children; ended ones count as zero."""
    import psutil

    total = 0
    with suppress(psutil.NoSuchProcess):
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
    return total

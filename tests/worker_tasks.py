"""What worker processes compute in tests: they import it, so it cannot be in a test module."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import torch

from greffe.errors import DivergedError, InterruptedRunError
from greffe.progress import Progress, notice
from greffe.training.interruption import Interruption


def scaled(factor: int, number: int) -> tuple[int, int, int]:
    """Return a product, the process that computed it, and its threads."""
    return factor * number, os.getpid(), torch.get_num_threads()


def dies(folder: Path, times: int) -> str:
    """Let the system kill its process so many times, then return what it is asked for."""
    deaths = folder / f"deaths-{times}"
    before = deaths.read_text() if deaths.exists() else ""
    if len(before) < times:
        deaths.write_text(before + "x")
        os.kill(os.getpid(), signal.SIGKILL)
    return before


def fails(_: None, number: int) -> int:
    """Diverge at 1; every other number takes until it is stopped."""
    if number == 1:
        raise DivergedError("Weights are not finite.", expected="numbers", found="NaN", hint="slow")
    if number == 2:
        raise _Odd(threading.Lock())
    return number


class _Odd(Exception):
    """An error that cannot be sent to another process."""


def waits(folder: Path, number: int) -> int:
    """Work until it is stopped, then save as a training does; the task 0 is done at once."""
    notice("nobody may see this")
    if number == 0:
        return 0
    with Interruption() as interruption, Progress("work", 10) as progress:
        (folder / f"began-{number}").write_text(str(os.getpid()))
        progress.set(5)
        while not interruption.requested:
            time.sleep(0.01)
            progress.set(5)
        time.sleep(0.3)  # a second signal now would end a process that saves
        (folder / f"saved-{number}").write_text("")
    raise InterruptedRunError("Stopped at step 3.")

"""One greffe command in a process of its own: forked from this one, or started from nothing.

This process has imported torch and started no threads, so a fork takes milliseconds where a start
takes seconds.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, NoReturn

import torch

from greffe import cli
from tools.torture.verbs import OUT
from tools.torture.watch import Aim, install

LOADED_ONCE = (
    *("greffe.api.studies", "greffe.api.training", "torch._dynamo", "pandas"),
    *("sklearn.feature_extraction.text", "sklearn.linear_model", "sklearn.metrics"),
)
"""Modules that commands load when they need them; loaded before the forks, they cost nothing."""
SILENT_LACK_OF_MEMORY = "SystemError: error return without exception set"
"""What Python says when a library written in C fails and does not say that it lacks memory."""
TOO_LONG = 180.0
"""Seconds after which a command counts as hanging."""

ASKING = (signal.SIGINT, signal.SIGTERM)
"""Signals that ask a process to end."""

Blow = Literal["SIGKILL", "SIGTERM", "SIGINT", "memory"]
BLOWS: tuple[Blow, ...] = ("SIGKILL", "SIGTERM", "SIGINT", "memory")


@dataclass(frozen=True)
class Moment:
    """What happens to a command from outside, and after how many seconds."""

    blow: Blow
    after: float


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    code: int
    """The exit code; the negative number of the signal that ended it."""
    err: str
    seconds: float
    operations: Sequence[str]
    is_hit: bool
    """Whether the moment came before the end."""
    hangs: bool

    @property
    def is_traceback(self) -> bool:
        """Whether a traceback was shown that greffe could have avoided."""
        is_early = ", in main\n" not in self.err
        is_excused = self.is_hit and (is_early or self.err.rstrip().endswith(SILENT_LACK_OF_MEMORY))
        return "Traceback (most recent call last)" in self.err and not is_excused

    @property
    def is_explained(self) -> bool:
        """Whether the command failed with an error of greffe."""
        return self.code > 0 and "error: " in self.err and not self.is_traceback


class Command:
    """A running command, in a folder that also keeps what it prints."""

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        aim: Aim | None = None,
        *,
        fresh: bool = False,
        name: str = "greffe",
    ) -> None:
        self.printed = folder / f"{name}.err"
        self.record = folder / f"{name}.operations"
        self.began = time.monotonic()
        self._process = None
        self.record.unlink(missing_ok=True)
        with (folder / f"{name}.out").open("wb") as out, self.printed.open("wb") as err:
            if fresh:
                assert aim is None, "a fresh process is not watched"
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "greffe", *words],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                )
                self.pid = self._process.pid
                return
            # A signal must not hit the child before it has become the command.
            signal.pthread_sigmask(signal.SIG_BLOCK, ASKING)
            self.pid = os.fork()
            if self.pid == 0:
                _become(words, folder, aim, (out.fileno(), err.fileno()), self.record)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKING)

    def poll(self) -> int | None:
        """Return the exit code, or None while the command is running."""
        if self._process is not None:
            return self._process.poll()
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def wait(self, moment: Moment | None = None) -> Ending:
        """Wait for the end; at the moment, do what is to happen."""
        is_hit = hangs = False
        while (code := self.poll()) is None:
            passed = time.monotonic() - self.began
            if moment is not None and not is_hit and passed >= moment.after:
                strike(self.pid, moment.blow)
                is_hit = True
            if passed > TOO_LONG and not hangs:
                hangs = True
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.005)
        return Ending(
            code=code,
            err=self.printed.read_text("utf-8", "replace"),
            seconds=time.monotonic() - self.began,
            operations=json.loads(self.record.read_text()) if self.record.exists() else [],
            is_hit=is_hit,
            hangs=hangs,
        )


def strike(pid: int, blow: Blow) -> None:
    """Send the signal, or leave the process almost no more memory."""
    if blow == "memory":
        with suppress(OSError, ProcessLookupError):  # it may have ended
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
            size = pages * resource.getpagesize() + random.Random(pid).randrange(8 << 20)
            resource.prlimit(pid, resource.RLIMIT_AS, (size, size))
        return
    os.kill(pid, signal.Signals[blow])


def load_modules() -> None:
    """Load what the commands need, before the first of them is forked."""
    for module in LOADED_ONCE:
        import_module(module)
    torch.set_num_threads(1)  # a process that has threads cannot be forked safely


def run(words: Sequence[str], folder: Path, aim: Aim | None = None) -> Ending:
    """Run a command to its end in a forked process."""
    return Command(words, folder, aim).wait()


def _become(
    words: Sequence[str], folder: Path, aim: Aim | None, streams: tuple[int, int], record: Path
) -> NoReturn:
    """Be the command, in a process that was just forked."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, stream in enumerate(streams, 1):
            os.dup2(stream, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
        sys.argv = ["greffe", *words]
        watch = install(folder / OUT, aim)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKING)
        code = _main()
        if code == 0:
            record.write_text(json.dumps(watch.operations))
    except BaseException:  # as the interpreter does at the end of a script
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _main() -> int:
    try:
        cli.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0

"""A worker process: started without the user's script, with its own threads; ends with its parent.

It receives what all tasks share once, then one item after the other, and sends how far it is, then
a result or an error. Knows nothing of what it computes.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from greffe.data.processes import end_with_parent, hidden_main
from greffe.progress import Progress, silence
from greffe.training.compute import set_up_compute
from greffe.training.interruption import obey_parent_only

REPORT_SECONDS = 0.2
END_SECONDS = 10.0


@dataclass(frozen=True)
class Done:
    """An item was computed."""

    result: Any


@dataclass(frozen=True)
class Failed:
    """The computation raised an error."""

    error: BaseException


@dataclass(frozen=True)
class Died:
    """The process ended before it answered."""

    code: int | None
    """Its exit code; negative: the signal that ended it."""


class Worker:
    """A process that computes function(context, item), as the parent sees it."""

    def __init__(self, work: bytes, threads: int) -> None:
        """Start the process; `work` is the result of `packed`."""
        spawn = multiprocessing.get_context("spawn")  # fork would copy locks held by other threads
        self.connection, theirs = spawn.Pipe()
        self.process = spawn.Process(target=_serve, args=(theirs, os.getcwd()), daemon=True)
        with hidden_main(), _environment(threads), _without_ctrl_c():
            self.process.start()
        theirs.close()
        self.fraction = 0.0
        """Of the item it computes that is done."""
        self._work: bytes | None = work

    def give(self, item: object) -> None:
        """Let it compute an item."""
        self.fraction = 0.0
        with suppress(OSError):  # it is dead, which is found when its answer is read
            if self._work is not None:
                self.connection.send_bytes(self._work)  # waits until the process is ready for it
                self._work = None
            self.connection.send(item)

    def receive(self) -> Done | Failed | Died | None:
        """Return how its work ended, or None if it only reported how far it is."""
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            message = Died(self.process.exitcode)
        if isinstance(message, float):
            self.fraction = max(self.fraction, message)
            return None
        assert isinstance(message, Done | Failed | Died)
        return message

    def end(self, *, kill: bool) -> None:
        """Kill the process, or let it end by itself if it is idle."""
        if kill:
            self.process.kill()
        self.connection.close()
        self.process.join(END_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def packed(function: Callable[..., Any], context: object) -> bytes:
    """Return what all workers compute with, as it is sent to each of them."""
    return bytes(ForkingPickler.dumps((function, context)))


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    """Start processes inside the block with this many threads for every library."""
    names = {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Start processes inside the block that Ctrl-C does not reach before they can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # when it starts, it changes the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- the worker's side ----------------------------------------------------------------------------


def _serve(connection: Connection, folder: str) -> None:
    """Compute one item after the other, until the parent closes the connection or dies."""
    os.chdir(folder)  # multiprocessing starts it where the parent was first
    silence()
    obey_parent_only()
    threading.Thread(target=end_with_parent, daemon=True).start()
    set_up_compute()
    try:
        function, context = connection.recv()
        while True:
            _compute(connection, function, context, connection.recv())
    except (EOFError, OSError):  # the parent has closed it
        return


def _compute(
    connection: Connection, function: Callable[..., Any], context: object, item: object
) -> None:
    with _Relay(connection) as relay, relay.part(1.0, ""):
        answer = _answer(function, context, item)
    connection.send(answer)


def _answer(function: Callable[..., Any], context: object, item: object) -> Done | Failed:
    try:
        return Done(function(context, item))
    except BaseException as error:  # a panic of a Rust library is no Exception
        error.add_note(f"in a worker process:\n{traceback.format_exc()}")
        try:
            return Failed(copy.deepcopy(error))
        except Exception:  # what cannot be copied cannot be sent
            return Failed(RuntimeError(f"{type(error).__name__}: {error}"))


class _Relay(Progress):
    """Passes on to the parent which fraction of the task is done."""

    def __init__(self, connection: Connection) -> None:
        super().__init__("worker", 1.0)
        self._connection = connection
        self._reported = time.monotonic()

    def set(self, done: float, detail: str | None = None) -> None:
        """Set the fraction done; report it a few times a second."""
        self.done = done
        if time.monotonic() - self._reported >= REPORT_SECONDS:
            self._reported = time.monotonic()
            self._connection.send(float(done))

"""Independent trainings side by side, each in a worker process; results as they are ready.

A worker is a new process that receives what all tasks share once, then one task after the other. It
reports how far it is, then a result or an error. One that dies is replaced once for each task.
Knows nothing of what the tasks compute.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from greffe.data.processes import end_with_parent, hidden_main
from greffe.errors import InterruptedRunError, RunError
from greffe.progress import Progress, notice, silence
from greffe.training.compute import set_up_compute
from greffe.training.interruption import Interruption, obey_parent_only

ATTEMPTS = 2
"""Workers that may die over one task."""
WAIT_SECONDS = 0.1
REPORT_SECONDS = 0.2
END_SECONDS = 10.0
NAMES_SHOWN = 3

Context = TypeVar("Context")
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Task(Generic[Item]):
    """One training."""

    item: Item
    name: str
    """In progress lines and errors."""
    weight: float = 1.0
    """How long it takes relative to others, roughly."""
    shares: str | None = None
    """What it keeps in memory for other tasks; those that share the same go to one worker."""


def run_side_by_side(
    function: Callable[[Context, Item], Result],
    context: Context,
    tasks: Sequence[Task[Item]],
    *,
    jobs: int,
    threads: int,
    progress: Progress,
) -> Generator[tuple[Item, Result]]:
    """Yield each task's item with function(context, item), computed by `jobs` new processes.

    Ctrl-C, SIGTERM and the first error of a task stop all workers, which save their state. Then
    the results that are ready are yielded, and the error is raised.
    """
    team = _Team(function, context, tasks, jobs, threads)
    error: BaseException | None = None
    with Interruption() as interruption:
        try:
            while error is None or team.is_busy:
                if interruption.requested and error is None:
                    error = InterruptedRunError("Stopped.")
                    team.stop()
                if error is None:
                    team.assign()
                    if not team.is_busy:
                        break
                for worker in team.wait():
                    task = worker.task
                    match worker.receive():
                        case _Done(result):
                            team.done += task.weight
                            yield task.item, result
                        case _Failed(failure) if error is None:
                            error = failure
                            team.stop()
                        case _Died(code) if error is None and not interruption.requested:
                            error = team.bury(worker, task, code)
                            if error is not None:
                                team.stop()
                progress.set(team.amount_done, team.describe())
        finally:
            team.end()
    if error is not None:
        raise error


# --- the parent's side ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Done:
    result: Any


@dataclass(frozen=True)
class _Failed:
    error: BaseException


@dataclass(frozen=True)
class _Died:
    code: int | None


class _Worker:
    """A process and the task it works on."""

    def __init__(self, function: Callable[..., Any], context: object, threads: int) -> None:
        spawn = multiprocessing.get_context("spawn")  # fork would copy locks held by other threads
        self.connection, theirs = spawn.Pipe()
        self.process = spawn.Process(
            target=_serve, args=(theirs, function, context, os.getcwd()), daemon=True
        )
        with hidden_main(), _environment(threads), _without_ctrl_c():
            self.process.start()
        theirs.close()
        self.current: Task[Any] | None = None
        self.fraction = 0.0

    @property
    def task(self) -> Task[Any]:
        assert self.current is not None
        return self.current

    def give(self, task: Task[Any]) -> None:
        self.current, self.fraction = task, 0.0
        with suppress(OSError):  # it is dead, which is found when its answer is read
            self.connection.send(task.item)

    def receive(self) -> _Done | _Failed | _Died | None:
        """Return the end of its task, or None if it only reported how far it is."""
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            message = _Died(self.process.exitcode)
        if isinstance(message, float):
            self.fraction = max(self.fraction, message)
            return None
        self.current = None
        assert isinstance(message, _Done | _Failed | _Died)
        return message

    def end(self) -> None:
        """Let an idle worker end by itself; kill one that is busy."""
        if self.current is not None:
            self.process.kill()
        self.connection.close()
        self.process.join(END_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@dataclass
class _Team:
    """The workers, and the tasks that none of them has begun."""

    function: Callable[..., Any]
    context: object
    tasks: Sequence[Task[Any]]
    jobs: int
    threads: int
    done: float = 0.0
    """Weight of the tasks that are done."""
    workers: list[_Worker] = field(default_factory=list)
    waiting: list[Task[Any]] = field(default_factory=list)
    deaths: dict[int, int] = field(default_factory=dict)
    """How many workers died over a task, by the task's identity."""
    owners: dict[str, _Worker] = field(default_factory=dict)
    """The worker of the tasks that share something."""

    def __post_init__(self) -> None:
        self.waiting = list(self.tasks)

    @property
    def busy(self) -> list[_Worker]:
        return [worker for worker in self.workers if worker.current is not None]

    @property
    def is_busy(self) -> bool:
        return bool(self.busy)

    @property
    def amount_done(self) -> float:
        return self.done + sum(worker.fraction * worker.task.weight for worker in self.busy)

    def describe(self) -> str:
        """Return how many tasks are done, and what is worked on."""
        names = [worker.task.name for worker in self.busy]
        left = len(names) + len(self.waiting)
        parts = [f"{len(self.tasks) - left}/{len(self.tasks)} done", *names[:NAMES_SHOWN]]
        parts += [f"{len(names) - NAMES_SHOWN} more"] if len(names) > NAMES_SHOWN else []
        return "; ".join(parts)

    def assign(self) -> None:
        """Give every idle worker a task; start new workers while there are tasks for them."""
        for worker in self.workers:
            if worker.current is None and (task := self._take(worker)) is not None:
                worker.give(task)
        while len(self.workers) < self.jobs and (task := self._take(None)) is not None:
            worker = _Worker(self.function, self.context, self.threads)
            self.workers.append(worker)
            if task.shares is not None:
                self.owners[task.shares] = worker
            worker.give(task)

    def _take(self, worker: _Worker | None) -> Task[Any] | None:
        """Remove and return the first task that a worker may do; None is a new worker."""
        for index, task in enumerate(self.waiting):
            owner = worker if task.shares is None else self.owners.get(task.shares, worker)
            if owner is worker:
                if task.shares is not None and worker is not None:
                    self.owners[task.shares] = worker
                return self.waiting.pop(index)
        return None

    def wait(self) -> Iterator[_Worker]:
        """Yield the busy workers that have something to say, after a moment at most."""
        by_connection = {worker.connection: worker for worker in self.busy}
        for ready in wait(list(by_connection), WAIT_SECONDS):
            assert isinstance(ready, Connection)
            yield by_connection[ready]

    def bury(self, worker: _Worker, task: Task[Any], code: int | None) -> RunError | None:
        """Put the task of a dead worker back, or return the error if another one died over it."""
        self.workers.remove(worker)
        worker.connection.close()
        self.owners = {name: owner for name, owner in self.owners.items() if owner is not worker}
        self.deaths[id(task)] = self.deaths.get(id(task), 0) + 1
        if self.deaths[id(task)] < ATTEMPTS:
            notice(f"{task.name}: its process {_cause(code)}; it is tried once more")
            self.waiting.insert(0, task)
            return None
        return RunError(
            f"{task.name}: its process died {ATTEMPTS} times.",
            expected="a process that computes to the end",
            found=f"it {_cause(code)}"
            + (": the system may have run out of memory" if _is_kill(code) else ""),
            hint=f"what is done is kept; the same command with --jobs {max(1, self.jobs // 2)} "
            "needs less memory",
        )

    def stop(self) -> None:
        """Ask the workers to save their state and stop."""
        for worker in self.busy:
            worker.process.terminate()

    def end(self) -> None:
        for worker in self.workers:
            worker.end()


def _is_kill(code: int | None) -> bool:
    return code == -getattr(signal, "SIGKILL", 9)


def _cause(code: int | None) -> str:
    """Return how a process ended, from its exit code."""
    if code is not None and code < 0:
        return f"was ended by signal {-code}, {signal.Signals(-code).name}"
    return f"ended with code {code}"


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


def _serve(
    connection: Connection, function: Callable[..., Any], context: object, folder: str
) -> None:
    """Compute one item after the other, until the parent closes the connection or dies."""
    os.chdir(folder)  # multiprocessing starts it where the parent was first
    silence()
    obey_parent_only()
    threading.Thread(target=end_with_parent, daemon=True).start()
    set_up_compute()
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        with _Relay(connection) as relay, relay.part(1.0, ""):
            answer = _answer(function, context, item)
        try:
            connection.send(answer)
        except OSError:  # the parent has closed it
            return


def _answer(function: Callable[..., Any], context: object, item: object) -> _Done | _Failed:
    try:
        return _Done(function(context, item))
    except BaseException as error:  # a panic of a Rust library is no Exception
        error.add_note(f"in a worker process:\n{traceback.format_exc()}")
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301, what this process has written
        except Exception:
            return _Failed(RuntimeError(f"{type(error).__name__}: {error}"))
        return _Failed(error)


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

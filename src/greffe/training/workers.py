"""Independent trainings side by side, each in a worker process; results as they are ready.

A worker that dies is replaced once for each task. Knows nothing of what the tasks compute.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any, Generic, TypeVar

from greffe.errors import InterruptedRunError, RunError
from greffe.progress import Progress, notice
from greffe.training.interruption import Interruption
from greffe.training.worker_process import Died, Done, Failed, Worker, packed

ATTEMPTS = 2
"""Workers that may die over one task."""
WAIT_SECONDS = 0.1
NAMES_SHOWN = 3
KILLED = -9
"""Exit code after SIGKILL, which the system sends when it has no more memory."""

Context = TypeVar("Context")
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
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

    Ctrl-C, SIGTERM and the first error of a task stop all workers, which save their state. What
    they finish meanwhile is yielded; then the error is raised.
    """
    work = packed(function, context)
    pool = _Pool(lambda: Worker(work, threads), tasks, jobs)
    error: BaseException | None = None
    with Interruption() as interruption:
        try:
            while True:
                if error is None and interruption.requested:
                    error = InterruptedRunError("Stopped.")
                    pool.stop()
                if error is None:
                    pool.assign()
                if not pool.at_work:
                    break
                for worker, task in pool.wait():
                    match worker.receive():
                        case Done(result):
                            pool.finish(worker, task)
                            yield task.item, result
                        case Failed(failure):
                            pool.release(worker)
                            error = error or failure
                            pool.stop()
                        case Died(code):
                            pool.forget(worker)
                            if error is None and not interruption.requested:
                                error = pool.try_again(task, code)
                progress.set(pool.amount_done, pool.describe())
        finally:
            pool.end()
    if error is not None:
        raise error


class _Pool:
    """The workers, what each of them works on, and the tasks that nobody has begun."""

    def __init__(self, start: Callable[[], Worker], tasks: Sequence[Task[Any]], jobs: int) -> None:
        self.start, self.jobs = start, jobs
        self.waiting = list(tasks)
        self.idle: list[Worker] = []
        self.at_work: dict[Worker, Task[Any]] = {}
        self.owners: dict[str, Worker] = {}  # of what tasks share
        self.deaths: Counter[Task[Any]] = Counter()
        self.count, self.done, self.weight_done = len(tasks), 0, 0.0
        self.is_stopping = False

    def assign(self) -> None:
        """Give every idle worker a task; start new workers while there are tasks for them."""
        given: dict[Worker, Task[Any]] = {}
        for worker in list(self.idle):
            if (task := self._take(worker)) is not None:
                self.idle.remove(worker)
                given[worker] = task
        while len(self.idle) + len(self.at_work) + len(given) < self.jobs:
            if (task := self._take(None)) is None:
                break
            given[self._start(task)] = task
        self.at_work |= given
        for worker, task in given.items():  # now that all new ones are starting
            worker.give(task.item)

    def _start(self, task: Task[Any]) -> Worker:
        worker = self.start()
        if task.shares is not None:
            self.owners[task.shares] = worker
        return worker

    def _take(self, worker: Worker | None) -> Task[Any] | None:
        """Remove and return the first task that a worker may do; None: a new worker."""
        for index, task in enumerate(self.waiting):
            if task.shares is None or self.owners.get(task.shares, worker) is worker:
                if task.shares is not None and worker is not None:
                    self.owners[task.shares] = worker
                return self.waiting.pop(index)
        return None

    def wait(self) -> Iterator[tuple[Worker, Task[Any]]]:
        """Yield the workers that have something to say, after a moment at most."""
        at_work = {worker.connection: (worker, task) for worker, task in self.at_work.items()}
        for ready in wait(list(at_work), WAIT_SECONDS):
            yield at_work[ready]  # type: ignore[index]

    def finish(self, worker: Worker, task: Task[Any]) -> None:
        """Count a task as done."""
        self.release(worker)
        self.done += 1
        self.weight_done += task.weight

    def release(self, worker: Worker) -> None:
        """Let a worker wait for its next task."""
        del self.at_work[worker]
        self.idle.append(worker)

    def forget(self, worker: Worker) -> None:
        """Forget a worker that is dead."""
        del self.at_work[worker]
        worker.connection.close()
        self.owners = {name: owner for name, owner in self.owners.items() if owner is not worker}

    def try_again(self, task: Task[Any], code: int | None) -> RunError | None:
        """Put the task of a dead worker back; stop and return an error if it was not the first."""
        self.deaths[task] += 1
        if self.deaths[task] < ATTEMPTS:
            notice(f"{task.name}: its process {_cause(code)}; it is tried once more")
            self.waiting.insert(0, task)
            return None
        self.stop()
        is_memory = code == KILLED
        return RunError(
            f"{task.name}: its process died {ATTEMPTS} times.",
            expected="a process that works until it is done",
            found=f"it {_cause(code)}"
            + (": the system may have run out of memory" if is_memory else ""),
            hint="what is done is kept; resume with --jobs 1, which needs less memory"
            if self.jobs > 1
            else "what is done is kept; resume with a smaller train.batch",
        )

    def stop(self) -> None:
        """Ask the workers, once, to save their state and stop."""
        if not self.is_stopping:
            self.is_stopping = True
            for worker in self.at_work:
                worker.process.terminate()

    def end(self) -> None:
        """Let idle workers end, and kill the others."""
        for worker in (*self.idle, *self.at_work):
            worker.end(kill=worker in self.at_work)

    @property
    def amount_done(self) -> float:
        """Weight of all that is done."""
        running = sum(worker.fraction * task.weight for worker, task in self.at_work.items())
        return self.weight_done + running

    def describe(self) -> str:
        """Return how many tasks are done, and what is worked on."""
        names = [task.name for task in self.at_work.values()]
        parts = [f"{self.done}/{self.count} done", *names[:NAMES_SHOWN]]
        parts += [f"{len(names) - NAMES_SHOWN} more"] if len(names) > NAMES_SHOWN else []
        return "; ".join(parts)


def _cause(code: int | None) -> str:
    """Return how a process ended, from its exit code."""
    if code is not None and code < 0:
        return f"was ended by signal {-code}, {signal.Signals(-code).name}"
    return f"ended with code {code}"

"""Many inputs in processes with limits: one that is killed or hangs is a problem too."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path

import psutil

from tools.fuzz.execute import Problem, execute
from tools.fuzz.targets import Target

BATCH = 100
"""Inputs that one process reads; then a new one begins with fresh memory."""
PROCESSOR_SECONDS = 10.0
"""Processor time that one input may take."""
WALL_SECONDS = 90.0
"""Time after which a process that computes nothing is taken to hang."""
MEMORY = 2 << 30
"""Bytes that a process may allocate on top of what it begins with."""
PRELOADED = (
    *("torch._dynamo", "sklearn.linear_model", "sklearn.feature_extraction.text", "scipy.stats"),
    *("sklearn.model_selection", "jinja2", "babel.dates", "pyarrow.parquet", "greffe.lab.run_lab"),
    *("google.protobuf.message", "sentencepiece.sentencepiece_model_pb2", "greffe.demo"),
)
"""Modules that greffe imports when it needs them: imported once here, not in each process."""

_fork = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Job:
    """One input, and which of its target's actions reads it; None: one that the input decides."""

    target: Target
    data: bytes
    action: int | None = None


@dataclass(frozen=True)
class Result:
    """How reading an input ended; without an exit code if its process was ended."""

    job: Job
    problem: Problem | None
    code: int | None = None


def run_jobs(jobs: Iterable[Job], world: Path, processes: int = 2) -> Iterator[Result]:
    """Yield the result of every job, in the order in which they end."""
    for name in PRELOADED:
        import_module(name)
    waiting = iter(jobs)
    workers: list[_Worker] = []
    try:
        while True:
            while len(workers) < processes and (batch := list(islice(waiting, BATCH))):
                workers.append(_Worker(batch, world))
            if not workers:
                return
            ready = wait([worker.results for worker in workers], timeout=0.2)
            for worker in list(workers):
                if (result := worker.next_result(worker.results in ready)) is not None:
                    yield result
                if worker.is_over:
                    workers.remove(worker)
                    worker.stop()
                    workers += [_Worker(worker.jobs, world)] if worker.jobs else []
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that reads a batch of inputs, seen from outside."""

    def __init__(self, jobs: Iterable[Job], world: Path) -> None:
        self.jobs = deque(jobs)
        self.results, sending = _fork.Pipe(duplex=False)
        self.is_over = False
        self._process = _fork.Process(target=_work, args=(list(self.jobs), world, sending))
        self._process.start()
        sending.close()
        self._start_clock()

    def next_result(self, is_ready: bool) -> Result | None:
        """Return the result of a job that has ended, if one has."""
        if is_ready:
            try:
                code, problem = self.results.recv()
            except EOFError:
                self.is_over = True
                self._process.join()
                died = Problem("died", f"exit code {self._process.exitcode}")
                return Result(self.jobs.popleft(), died) if self.jobs else None
            self._start_clock()
            return Result(self.jobs.popleft(), problem, code)
        if (exceeded := self._exceeded()) is None:
            return None
        self.is_over = True
        return Result(self.jobs.popleft(), exceeded)

    def stop(self) -> None:
        """End the process and those that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid or 0, signal.SIGKILL)
        self._process.join()
        self.results.close()

    def _start_clock(self) -> None:
        self._began = time.monotonic()
        self._processor_began = self._processor_seconds()

    def _exceeded(self) -> Problem | None:
        if self._processor_seconds() - self._processor_began > PROCESSOR_SECONDS:
            return Problem("time", f"more than {PROCESSOR_SECONDS:.0f} s of computing")
        if time.monotonic() - self._began > WALL_SECONDS:
            return Problem("time", f"more than {WALL_SECONDS:.0f} s of waiting")
        return None

    def _processor_seconds(self) -> float:
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(self._process.pid).cpu_times()
            return float(times.user + times.system)
        return 0.0


def _work(jobs: list[Job], world: Path, results: Connection) -> None:
    """Read the inputs one after the other; the body of a process."""
    os.setsid()
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 2)  # libraries in Rust and C++ write there themselves
    limit = psutil.Process().memory_info().vms + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for job in jobs:
        outcome, problem = execute(job.target, job.data, world, job.action)
        results.send((outcome.code, problem))

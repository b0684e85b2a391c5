"""Make an input smaller that shows the same problem."""

from __future__ import annotations

from pathlib import Path

from tools.fuzz.execute import Problem
from tools.fuzz.pool import Job, run_jobs

TRIES = 150


def shrink(job: Job, problem: Problem, world: Path) -> bytes:
    """Return the input without the parts that the problem does not need."""
    if problem.kind == "time":  # each try would take as long
        return job.data
    data, size, tries = job.data, len(job.data) // 2, 0
    while size and tries < TRIES:
        begin = 0
        while begin < len(data) and tries < TRIES:
            shorter = data[:begin] + data[begin + size :]
            tries += 1
            if _shows(Job(job.target, shorter, job.action), problem, world):
                data = shorter
            else:
                begin += size
        size //= 2
    return data


def _shows(job: Job, problem: Problem, world: Path) -> bool:
    (result,) = run_jobs([job], world, processes=1)
    found = result.problem
    return found is not None and (found.kind, found.where) == (problem.kind, problem.where)

"""How a process computes: threads, memory, and torch.compile where it is faster."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from statistics import median

import torch

from greffe.errors import RecipeError
from greffe.machine import compute_threads, cores, keep_freed_memory, local_ranks
from greffe.model.model import Model
from greffe.progress import notice

THREADS_PER_CORE = 64  # far more than is useful; OpenMP ends a process that cannot start them
TRIES = 3
WORTH = 0.97  # of the time without it: a smaller gain is within the noise of a few steps


def set_up_compute(threads: int = 0, *, jobs: int = 1) -> int:
    """Use this many threads, else OMP_NUM_THREADS, else the cores divided by the local ranks and
    by the trainings side by side."""
    keep_freed_memory()
    threads = threads or compute_threads(local_ranks() * jobs)
    if threads > THREADS_PER_CORE * cores():
        raise RecipeError(
            f"{threads:,} compute threads are too many for this machine.",
            expected=f"at most {THREADS_PER_CORE * cores():,}, {THREADS_PER_CORE} for each core",
            found=f"train.threads or OMP_NUM_THREADS = {threads:,}, {cores()} cores",
            hint="leave it out: the default is one thread per core",
        )
    torch.set_num_threads(threads)
    return threads


def compile_model(model: Model) -> bool:
    """Compile the base in place, which keeps parameter names; return whether it worked."""
    # The compiler that torch uses for a CPU; it looks for no other.
    compiler = os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")
    is_host = model.base.embedding.weight.device.type == "cpu"
    if is_host and shutil.which(compiler) is None:
        notice(f"no C++ compiler ({compiler}) found: training runs without torch.compile")
        return False
    model.base.compile(dynamic=True)
    return True


def compile_and_try(model: Model, forward_and_backward: Callable[[], None]) -> bool:
    """Compile the base in place and compute a step with it; undo that if it fails."""
    return compile_model(model) and _works(model, forward_and_backward)


def compile_if_faster(model: Model, forward_and_backward: Callable[[], None]) -> bool:
    """Time a few steps with and without torch.compile; keep and report the faster option."""
    plain = _seconds(forward_and_backward)
    if not compile_model(model):
        return False
    notice("testing torch.compile on a few steps; compiling takes about a minute")
    if not _works(model, forward_and_backward):
        return False
    compiled = _seconds(forward_and_backward)
    is_faster = compiled < WORTH * plain
    notice(
        f"torch.compile {'on' if is_faster else 'off'}: "
        f"{compiled * 1e3:.0f} ms per step with it, {plain * 1e3:.0f} ms without"
    )
    if not is_faster:
        _undo(model)
    return is_faster


def _works(model: Model, forward_and_backward: Callable[[], None]) -> bool:
    """Return whether a compiled model can compute; if not, it is compiled no more."""
    try:
        forward_and_backward()
    except Exception as error:  # compilers fail in many ways; training works without them
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        notice(f"torch.compile failed, training continues without it: {reason}")
        _undo(model)
        return False
    return True


def _seconds(work: Callable[[], None]) -> float:
    work()  # warm-up, or compilation
    times = []
    for _ in range(TRIES):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def _undo(model: Model) -> None:
    # torch has no public way to undo nn.Module.compile.
    model.base._compiled_call_impl = None

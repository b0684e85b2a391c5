"""torch.compile where it pays: measured on the run's own batches; one line where it cannot be."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from statistics import median

from greffe.model.model import Model
from greffe.progress import notice

TRIES = 3
WORTH = 0.97  # of the time without: a smaller gain is within the noise of a few steps


def compile_model(model: Model) -> bool:
    """Compile the base in place, so that the names of its weights never change."""
    # torch asks for this very one and looks for no other.
    compiler = os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")
    if shutil.which(compiler) is None:
        notice(f"no C++ compiler ({compiler}) found: training runs without torch.compile")
        return False
    model.base.compile(dynamic=True)
    return True


def compile_if_faster(model: Model, forward_and_backward: Callable[[], None]) -> bool:
    """Time a few steps with and without torch.compile, keep the faster way, and say which."""
    plain = _seconds(forward_and_backward)
    if not compile_model(model):
        return False
    notice("trying torch.compile on a few steps; compiling takes a minute")
    try:
        compiled = _seconds(forward_and_backward)
    except Exception as error:  # whatever a compiler may die of, training can do without it
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        notice(f"torch.compile failed, training runs without it: {reason}")
        _undo(model)
        return False
    is_faster = compiled < WORTH * plain
    notice(
        f"torch.compile {'on' if is_faster else 'off'}: "
        f"{compiled * 1e3:.0f} ms a step with it, {plain * 1e3:.0f} ms without"
    )
    if not is_faster:
        _undo(model)
    return is_faster


def _seconds(work: Callable[[], None]) -> float:
    work()  # warms up, or compiles
    times = []
    for _ in range(TRIES):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def _undo(model: Model) -> None:
    # torch has no public way back from nn.Module.compile.
    model.base._compiled_call_impl = None

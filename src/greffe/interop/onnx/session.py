"""Graphs in onnxruntime: opened with clear errors, and run on batches of rows in parallel."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import TypeVar

import numpy as np

from greffe.errors import CorruptError, MissingExtraError, RunError, first_line
from greffe.machine import compute_threads

OLDEST = (1, 17)
"""The first version of onnxruntime that computes operators of opset 20."""
ERRORS_ONLY = 3

Item = TypeVar("Item")
Result = TypeVar("Result")


class Session:
    """One graph. Each call computes with one thread; several calls can run at the same time."""

    def __init__(self, path: Path) -> None:
        # Newer packages of onnxruntime report their use to their makers unless this is set first.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        try:
            import onnxruntime
        except ImportError:
            raise MissingExtraError("onnxruntime", "onnx", "An exported model") from None
        _check_version(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = ERRORS_ONLY
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the library raises a class for each of its status codes
            raise CorruptError(
                f"{path} cannot be opened.",
                expected="a graph that greffe export wrote",
                found=first_line(error),
                hint="repeat greffe export, or install a newer onnxruntime",
            ) from None

    def run(self, output: str, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return one output of the graph."""
        try:
            (result,) = self._session.run([output], dict(inputs))
        except Exception as error:
            raise RunError(
                "onnxruntime could not compute the graph.", found=first_line(error)
            ) from None
        found: np.ndarray = result
        return found


def in_parallel(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return `work(item)` of every item, in order, with a thread for each core.

    onnxruntime releases the GIL while it computes.
    """
    threads = min(compute_threads(), len(items))
    if threads <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads, "batches") as pool:
        return list(pool.map(work, items))


def _check_version(path: Path) -> None:
    """Raise an error if onnxruntime is too old for the operators of the graph."""
    found = metadata.version("onnxruntime")
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise RunError(
            f"{path} needs a newer onnxruntime.",
            expected=f"onnxruntime {oldest} or newer",
            found=found,
            hint=f'pip install "onnxruntime>={oldest}"',
        )

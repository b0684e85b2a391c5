"""Run a contender in a separate process, so that contenders do not influence each other.

Allocator settings, caches and buffers stay within one process. The process sets up its contender,
reports that it is ready, and then waits for round numbers on its standard input; it answers each
with a sample as a line of JSON. While one contender works, the others sleep.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from importlib import import_module
from types import TracebackType
from typing import Self

from benchmarks.settings import Settings
from benchmarks.timing import Contender, Sample

READY = "ready"


class Worker:
    """A contender in another process, called as if it were local."""

    def __init__(self, module: str, name: str, settings: Settings) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, module, name, settings.to_json()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        # One after the other: the next is set up when this one is ready.
        answer = self._answer()
        assert answer == READY, answer

    def __call__(self, number: int) -> Sample:
        assert self._process.stdin is not None
        print(number, file=self._process.stdin, flush=True)
        return Sample(**json.loads(self._answer()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.__exit__(kind, error, trace)  # closes the pipes and waits

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            with self._process:
                code = self._process.wait()
            raise SystemExit(f"{self.name} ended with exit code {code}; see above")
        return line.strip()


def build(module: str, name: str, settings: Settings) -> Contender:
    """Build the contender of this name."""
    contender: Contender = import_module(f"benchmarks.cases.{module}").CONTENDERS[name](settings)
    return contender


def serve(module: str, name: str, settings: Settings) -> None:
    """Answer rounds until the input ends."""
    # Output of libraries goes to standard error: standard output is only for answers.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        contender = build(module, name, settings)
        print(READY, file=answers, flush=True)
        for line in sys.stdin:
            print(json.dumps(asdict(contender(int(line)))), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], Settings.from_json(sys.argv[3]))

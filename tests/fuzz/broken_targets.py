"""Targets with every kind of problem; prints which of them are noticed."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from tools.fuzz import pool
from tools.fuzz.targets import Target

from greffe.errors import DataError


def crash() -> None:
    raise KeyError("not of greffe's errors")


def expected_error() -> None:
    raise DataError("The file is empty.")


def error_without_message() -> None:
    sys.exit(3)


def not_a_number() -> None:
    print('{"accuracy": NaN}')


def written_infinity() -> None:
    Path("out").mkdir()
    Path("out/run.json").write_text('{"loss": Infinity}')


def changed_file() -> None:
    Path("input").write_bytes(b"other")


def changed_output() -> None:
    Path("out").write_bytes(b"other")


def endless_loop() -> None:
    while True:
        pass


def endless_wait() -> None:
    signal.pause()


def much_memory() -> None:
    bytearray(8 << 30)


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def target(action: Callable[[], None]) -> Target:
    """Return a target whose only input is read by the action."""

    def place(folder: Path, data: bytes) -> None:
        (folder / "input").write_bytes(data)

    return Target(
        name=action.__name__,
        examples=lambda world: [b"input"],
        change=lambda random, data: data,
        place=place,
        actions=lambda data: [action],
    )


ACTIONS = (
    *(crash, expected_error, error_without_message, not_a_number, written_infinity),
    *(changed_file, changed_output, endless_loop, endless_wait, much_memory, killed),
)


def main(world: Path) -> None:
    """Print a JSON object: the kind of problem of each target."""
    jobs = [pool.Job(target(action), b"input") for action in ACTIONS]
    with (
        mock.patch.object(pool, "PROCESSOR_SECONDS", 1.0),
        mock.patch.object(pool, "WALL_SECONDS", 3.0),
    ):
        results = list(pool.run_jobs(jobs, world, processes=2))
    kinds = {result.job.target.name: result.problem and result.problem.kind for result in results}
    print(json.dumps(kinds))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""What every tracker does, and the registry of trackers.

A tracker is a tool that shows how trainings go, such as TensorBoard. It is told what is written to
metrics.jsonl, and nothing else.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from greffe.storage import read_file, write_atomic

TRACKERS: dict[str, type[Tracker]] = {}
"""Every tracker by name; importing `greffe.pipelines.tracking` fills it."""
FOLDER = "tracking"
"""Folder of a run for what trackers remember of it."""
Ending = Literal["finished", "interrupted", "failed"]
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


@dataclass(frozen=True)
class RunFacts:
    """What a tracker is told about a run."""

    name: str
    folder: Path
    parameters: Mapping[str, Any]
    """The recipe as `{"train.lr": 0.001, …}`."""
    tags: Mapping[str, str]
    """Where the run came from."""
    step: int
    """The step that training continues after: 0, or that of a checkpoint."""


@dataclass(frozen=True)
class Line:
    """A line of metrics.jsonl as trackers take it: `train/loss`, `valid/accuracy` and so on."""

    step: int
    time: float
    figures: Mapping[str, float]


class Tracker(ABC):
    """One run in a tracker. All methods are called in one thread, which is not the training's."""

    name: ClassVar[str]
    """Name on the command line, unique among all trackers, and that of its extra."""
    library: ClassVar[str]
    """What is imported."""
    environment: ClassVar[Mapping[str, str]] = {}
    """Environment variables while a run is tracked, unless the user has set them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        assert cls.name not in TRACKERS, f"two trackers are called {cls.name!r}"
        TRACKERS[cls.name] = cls

    @abstractmethod
    def __init__(self, run: RunFacts) -> None:
        """Open the run: the same as before if it is resumed, a new one otherwise."""

    @abstractmethod
    def log(self, lines: Sequence[Line]) -> None:
        """Take lines in their order. Steps that the tracker already has are not doubled."""

    @abstractmethod
    def finish(self, result: Line) -> None:
        """Take the figures of the finished run."""

    @abstractmethod
    def close(self, ending: Ending) -> None:
        """Send what is left, and say how the training ended."""


def remembered_id(run: RunFacts, tracker: str) -> str | None:
    """Return the id that a resumed run has in a tracker, if it is known."""
    path = _id_path(run, tracker)
    if not path.is_file():
        return None
    text = read_file(path, f"the run's id in {tracker}").decode("utf-8", "replace").strip()
    return text if _ID.fullmatch(text) else None


def remember_id(run: RunFacts, tracker: str, identifier: str) -> None:
    """Write the id that a run has in a tracker, for when the run is resumed."""
    path = _id_path(run, tracker)
    path.parent.mkdir(exist_ok=True)
    write_atomic(path, f"{identifier}\n".encode())


def _id_path(run: RunFacts, tracker: str) -> Path:
    return run.folder / FOLDER / f"{tracker}.id"

"""What was asked for on the command line, and the stopwatch of a contender's process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.timing import Stopwatch

PEAK_SIZE = 2048
QUICK_PEAK_SIZE = 256


@dataclass(frozen=True)
class Settings:
    """One invocation; goes to the contenders' processes as JSON."""

    rounds: int
    threads: int
    quick: bool
    """Tiny sizes: to see that everything runs, not to learn anything from it."""
    scratch: str
    """A folder that goes when the benchmarks end."""
    corpus_small: str = ""
    corpus_large: str = ""
    """A corpus and a larger one, for the case that compares their memory."""
    corpus_steps: int = 50

    @cached_property
    def stopwatch(self) -> Stopwatch:
        """Times a piece and measures the machine's peak, with so many threads, on both sides."""
        import torch

        from benchmarks.machine import Peak

        torch.set_num_threads(self.threads)
        return Stopwatch(Peak(QUICK_PEAK_SIZE if self.quick else PEAK_SIZE).sample)

    def folder(self, name: str) -> Path:
        """A new folder among the scratch files."""
        path = Path(self.scratch) / name
        path.mkdir(exist_ok=True)
        return path

    def to_json(self) -> str:
        """For another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """What to_json wrote."""
        return cls(**json.loads(text))

"""Settings from the command line, and the stopwatch of a contender's process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from benchmarks.timing import Stopwatch

Precision = Literal["fp32", "bf16"]
THREADS_OF = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
"""Variables that set the number of threads of libraries."""
PEAK_SIZE = 2048
QUICK_PEAK_SIZE = 256


@dataclass(frozen=True)
class Settings:
    """Settings of one invocation; passed to the contenders' processes as JSON."""

    rounds: int
    threads: int
    quick: bool
    """Tiny sizes, to check that everything runs."""
    scratch: str
    """A temporary folder."""
    corpus_small: str = ""
    corpus_large: str = ""
    """A small and a large corpus, for corpus-memory."""
    corpus_steps: int = 50
    has_bf16: bool = False
    """Whether contenders in bf16 take part."""

    def stopwatch(self, precision: Precision = "fp32") -> Stopwatch:
        """Return a stopwatch that measures the machine's peak before and after a piece of work."""
        import torch

        from benchmarks.machine import Peak

        torch.set_num_threads(self.threads)
        return Stopwatch(Peak(QUICK_PEAK_SIZE if self.quick else PEAK_SIZE, precision).sample)

    def folder(self, name: str) -> Path:
        """Create a folder for temporary files."""
        path = Path(self.scratch) / name
        path.mkdir(exist_ok=True)
        return path

    def to_json(self) -> str:
        """Return the settings as JSON for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Read the output of to_json."""
        return cls(**json.loads(text))

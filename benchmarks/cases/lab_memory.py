"""Peak resident memory of causal training with 32 rows of 256 tokens, in new processes.

This file is also that process: `python -m benchmarks.cases.lab_memory NAME THREADS full|quick`
trains a few steps and prints its peak memory as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.cases import GREFFE, GREFFE_HALF, LAB_LOOP
from benchmarks.settings import Settings
from benchmarks.timing import Contender, Sample

BATCH = 32
PARTS = 4  # of a batch, in greffe: gradients are summed, and the step is the same up to rounding
STEPS = 2  # the second one starts with the optimizer's state in memory
MEGABYTE = 1e6


def fresh_process(settings: Settings, name: str, module: str = __name__) -> Contender:
    """Build the contender that runs a module in a new process in every round."""
    size = "quick" if settings.quick else "full"
    command = [sys.executable, "-m", module, name, str(settings.threads), size]

    def run(_: int) -> Sample:
        finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(finished.stdout)
        return Sample(found["peak"] / MEGABYTE, None, found)

    return run


CONTENDERS = {name: partial(fresh_process, name=name) for name in (LAB_LOOP, GREFFE, GREFFE_HALF)}


def peak_resident() -> int:
    """Return the peak resident memory of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not ru_maxrss: on Linux a new process inherits the value of its parent.
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def main() -> None:
    """Train a few steps and print the peak memory."""
    import psutil
    import torch

    from benchmarks.cases.lab import lab_recipe, lab_rows
    from benchmarks.greffe_loop import LanguageLoop
    from benchmarks.lab_loop import LabLoop
    from benchmarks.synthetic import tokenizer_of

    name, threads, size = sys.argv[1:]
    torch.set_num_threads(int(threads))
    recipe = lab_recipe(size == "quick")
    vocab = recipe.tokenizer.vocab
    rows = lab_rows(recipe, BATCH, STEPS)
    loop = (
        LabLoop(recipe.model, vocab, rows)
        if name == LAB_LOOP
        else LanguageLoop(
            recipe.with_changes([f"train.batch={BATCH}", f"train.accumulation={PARTS}"]),
            tokenizer_of(vocab),
            [ids[:, :-1] for ids in rows],
            int(threads),
            "bf16" if name == GREFFE_HALF else "fp32",
        )
    )
    before = psutil.Process().memory_info().rss
    for _ in range(STEPS):
        loop.step()
    print(json.dumps({"before_first_step": before, "peak": peak_resident()}))


if __name__ == "__main__":
    main()

"""Peak resident memory of fine-tuning a base of MiniLM-L6's shape, in new processes.

This file is also that process: `python -m benchmarks.cases.minilm_memory NAME THREADS full|quick`
fine-tunes on a few batches of reviews and prints its peak memory as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial

from benchmarks.cases import GREFFE, GREFFE_HALF, HALF, TRAINER, TRAINER_HALF
from benchmarks.cases.lab_memory import fresh_process, peak_resident

CONTENDERS = {
    name: partial(fresh_process, name=name, module=__name__)
    for name in (GREFFE, GREFFE_HALF, TRAINER, TRAINER_HALF)
}


def main() -> None:
    """Fine-tune on a fifth of the reviews and print the peak memory."""
    from benchmarks.cases.finetune import greffe, trainer
    from benchmarks.cases.minilm import minilm_recipe
    from benchmarks.settings import Precision, Settings

    name, threads, size = sys.argv[1:]
    precision: Precision = "bf16" if name.endswith(HALF) else "fp32"
    with tempfile.TemporaryDirectory() as scratch:
        settings = Settings(rounds=1, threads=int(threads), quick=size == "quick", scratch=scratch)
        if name.startswith(GREFFE):
            run = greffe(settings, precision, minilm_recipe)
        else:
            run = trainer(settings, "random", precision, minilm_recipe)
        run(0)
    print(json.dumps({"peak": peak_resident()}))


if __name__ == "__main__":
    main()

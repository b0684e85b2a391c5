"""The benchmark cases, one file each: contenders, unit and goals.

A file is imported when its case is run, and imports the libraries that greffe is compared with only
when one of its contenders is built, in a separate process.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from benchmarks.settings import Settings
from benchmarks.timing import Goal

GREFFE = "greffe"


@dataclass(frozen=True)
class Case:
    """One comparison."""

    name: str
    title: str
    unit: str
    module: str
    """Has CONTENDERS: functions that build a contender, by name, in the order of their turns."""
    round_seconds: float
    """Approximate time of a round on two cores, for the remaining time."""
    less_is_better: bool = False
    most_rounds: int | None = None
    """A limit for slow cases with little variation."""
    is_default: bool = True
    goals: tuple[Goal, ...] = ()
    ours: str = GREFFE
    """The contender that the goals are about and that the others are compared with."""

    def rounds(self, settings: Settings) -> int:
        """Return the number of rounds."""
        return min(settings.rounds, self.most_rounds or settings.rounds)

    def contenders(self) -> list[str]:
        """Return the names of the contenders, in the order of their turns."""
        return list(import_module(f"benchmarks.cases.{self.module}").CONTENDERS)


LAB_LOOP = "the lab's loop"
TRAINER = "HF Trainer"
TRAINER_GROUPED = "HF Trainer, by length"
PIPELINE = "HF pipeline"
PIPELINE_BATCHED = "HF pipeline, batches of 32"
TFIDF = "TF-IDF + regression"
GRID_SEARCH = "scikit-learn grid search"
CROSS_ENTROPY = "F.cross_entropy"
SMALL_CORPUS = "small corpus"
LARGE_CORPUS = "large corpus"

CASES = (
    Case(
        name="lab",
        title="Causal training, the lab's model",
        unit="tokens/s",
        module="lab",
        round_seconds=23,
        goals=(
            Goal("tokens/s over the lab's loop", "ratio", 2.0, LAB_LOOP),
            Goal("fraction of the machine's peak", "peak", 0.75),
        ),
    ),
    Case(
        name="lab-memory",
        title="Memory of the same with 32 × 256 tokens",
        unit="MB",
        module="lab_memory",
        round_seconds=40,
        less_is_better=True,
        most_rounds=3,
        goals=(Goal("times less memory than the lab's loop", "ratio", 6.0, LAB_LOOP),),
    ),
    Case(
        name="masked",
        title="Masked training, the small model",
        unit="tokens/s",
        module="masked",
        round_seconds=15,
        goals=(
            Goal("tokens/s over Trainer", "ratio", 2.5, TRAINER),
            Goal("fraction of the machine's peak", "peak", 0.65),
        ),
    ),
    Case(
        name="finetune",
        title="Fine-tuning on 1,600 reviews",
        unit="s/epoch",
        module="finetune",
        round_seconds=44,
        less_is_better=True,
        goals=(Goal("times faster than Trainer", "ratio", 3.0, TRAINER),),
    ),
    Case(
        name="predict",
        title="Classifying 2,000 reviews from text",
        unit="texts/s",
        module="predict",
        round_seconds=25,
        goals=(Goal("texts/s over the pipeline", "ratio", 5.0, PIPELINE),),
    ),
    Case(
        name="linear",
        title="TF-IDF model of 500 reviews, C chosen",
        unit="s",
        module="linear",
        round_seconds=5,
        less_is_better=True,
        goals=(Goal("times faster than a grid search", "ratio", 2.0, GRID_SEARCH),),
    ),
    Case(
        name="help",
        title="greffe --help",
        unit="s",
        module="help",
        round_seconds=0.5,
        less_is_better=True,
        goals=(Goal("seconds until the help is printed", "value", 0.5),),
    ),
    Case(
        name="kernel",
        title="The vocabulary loss alone",
        unit="rows/s",
        module="kernel",
        round_seconds=15,
        is_default=False,
    ),
    Case(
        name="corpus-memory",
        title="Memory of pretraining on a large and a small corpus",
        unit="MB",
        module="corpus_memory",
        round_seconds=60,
        less_is_better=True,
        most_rounds=1,
        is_default=False,
        ours=LARGE_CORPUS,
    ),
)

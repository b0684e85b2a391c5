"""The cases, one file each: what is measured, by whom, and what the project wants of it.

A file is imported when its case is run, and imports the libraries that greffe is compared with only
when one of its contenders is built: each has a process of its own.
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
    """Has CONTENDERS: by name, in the order of their turns, who builds one from the settings."""
    round_seconds: float
    """What a round takes on two cores, about: for the time left."""
    less_is_better: bool = False
    most_rounds: int | None = None
    """For what hardly varies and takes long."""
    is_default: bool = True
    goals: tuple[Goal, ...] = ()
    ours: str = GREFFE
    """The contender whom the goals are about and with whom the others are compared."""

    def rounds(self, settings: Settings) -> int:
        """How many rounds it gets."""
        return min(settings.rounds, self.most_rounds or settings.rounds)

    def contenders(self) -> list[str]:
        """Their names, in the order of their turns."""
        return list(import_module(f"benchmarks.cases.{self.module}").CONTENDERS)


LAB_LOOP = "the lab's loop"
TRAINER = "HF Trainer"
TRAINER_GROUPED = "HF Trainer, by length"
PIPELINE = "HF pipeline"
PIPELINE_BATCHED = "HF pipeline, by 32"
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
            Goal("share of the machine's peak", "share", 0.75),
        ),
    ),
    Case(
        name="lab-memory",
        title="Memory of that at 32 × 256",
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
            Goal("share of the machine's peak", "share", 0.65),
        ),
    ),
    Case(
        name="finetune",
        title="Fine-tuning on 1,600 reviews",
        unit="s an epoch",
        module="finetune",
        round_seconds=44,
        less_is_better=True,
        goals=(Goal("times faster than Trainer", "ratio", 3.0, TRAINER),),
    ),
    Case(
        name="predict",
        title="Labels for 2,000 reviews, from text",
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
        goals=(Goal("seconds until the help is there", "value", 0.5),),
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
        title="Memory of pretraining, large corpus beside a small one",
        unit="MB",
        module="corpus_memory",
        round_seconds=60,
        less_is_better=True,
        most_rounds=1,
        is_default=False,
        ours=LARGE_CORPUS,
    ),
)

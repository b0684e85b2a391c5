"""The benchmark cases, one file each: contenders, unit and goals.

A file is imported when its case is run, and imports the libraries that greffe is compared with only
when one of its contenders is built, in a separate process.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from importlib import import_module

from benchmarks.settings import Settings
from benchmarks.timing import Goal

GREFFE = "greffe"
HALF = ", bf16"
INT8 = ", int8"
FASTER = (INT8, HALF)
"""Ends of the names of contenders that multiply in bf16 or int8, the faster first; int8 uses bf16
too. They are left out where bf16 is slow."""
GREFFE_HALF = GREFFE + HALF
GREFFE_INT8 = GREFFE + INT8


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
    """The contender that the goals are about and that the others are compared with; in int8 or bf16
    instead, if there is such a contender."""

    def rounds(self, settings: Settings) -> int:
        """Return the number of rounds."""
        return min(settings.rounds, self.most_rounds or settings.rounds)

    def contenders(self, *, has_bf16: bool) -> list[str]:
        """Return the names of the contenders, in the order of their turns."""
        names = list(import_module(f"benchmarks.cases.{self.module}").CONTENDERS)
        return [name for name in names if has_bf16 or not name.endswith(FASTER)]

    def best(self, names: Collection[str]) -> str:
        """Return which of these contenders the others are compared with."""
        candidates = [*(self.ours + end for end in FASTER), self.ours]
        return next(name for name in candidates if name in names)

    def goals_among(self, names: Collection[str]) -> list[Goal]:
        """Return the goals that can be measured with these contenders."""
        best = self.best(names)
        return [
            goal
            for goal in self.goals
            if (not goal.over or goal.over in names)
            and goal.in_bf16 in (None, best.endswith(FASTER))
        ]


LAB_LOOP = "the lab's loop"
TRAINER = "HF Trainer"
TRAINER_HALF = TRAINER + HALF
TRAINER_GROUPED = "HF Trainer, by length"
TRAINER_GROUPED_HALF = TRAINER_GROUPED + HALF
PIPELINE = "HF pipeline"
PIPELINE_HALF = PIPELINE + HALF
PIPELINE_BATCHED = "HF pipeline, batches"
PIPELINE_BATCHED_HALF = PIPELINE_BATCHED + HALF
ONE_JOB = "greffe, one after the other"
ONE_RANK = "greffe, one process"
ONE_RANK_HALF = ONE_RANK + HALF
ONNX = "greffe, ONNX"
ONNX_INT8 = ONNX + INT8
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
            Goal("tokens/s over the lab's loop", "ratio", 2.0, LAB_LOOP, in_bf16=False),
            Goal("tokens/s over the lab's loop", "ratio", 3.5, LAB_LOOP, in_bf16=True),
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
        goals=(
            Goal("times less memory than the lab's loop", "ratio", 6.0, LAB_LOOP, in_bf16=False),
            Goal("times less memory than the lab's loop", "ratio", 8.0, LAB_LOOP, in_bf16=True),
        ),
    ),
    Case(
        name="masked",
        title="Masked training, the small model",
        unit="tokens/s",
        module="masked",
        round_seconds=15,
        goals=(
            Goal("tokens/s over greffe in fp32", "ratio", 2.0, GREFFE, in_bf16=True),
            Goal("tokens/s over Trainer", "ratio", 2.5, TRAINER, in_bf16=False),
            Goal("tokens/s over Trainer in fp32", "ratio", 3.8, TRAINER, in_bf16=True),
            Goal("tokens/s over Trainer in bf16", "ratio", 2.0, TRAINER_HALF),
        ),
    ),
    Case(
        name="finetune",
        title="Fine-tuning on 1,600 reviews",
        unit="s/epoch",
        module="finetune",
        round_seconds=44,
        less_is_better=True,
        goals=(
            Goal("times faster than Trainer", "ratio", 3.0, TRAINER, in_bf16=False),
            Goal("times faster than Trainer", "ratio", 3.5, TRAINER, in_bf16=True),
            Goal(
                "times faster than Trainer by length", "ratio", 2.0, TRAINER_GROUPED, in_bf16=True
            ),
        ),
    ),
    Case(
        name="predict",
        title="Classifying 2,000 reviews from text",
        unit="texts/s",
        module="predict",
        round_seconds=25,
        goals=(
            Goal("texts/s over the pipeline", "ratio", 5.0, PIPELINE),
            Goal("texts/s over the pipeline in batches", "ratio", 5.0, PIPELINE_BATCHED),
        ),
    ),
    Case(
        name="minilm",
        title="Fine-tuning MiniLM-L6 on 1,600 reviews",
        unit="s/epoch",
        module="minilm",
        round_seconds=150,
        less_is_better=True,
        most_rounds=3,
        goals=(
            Goal("times faster than Trainer", "ratio", 1.5, TRAINER, in_bf16=False),
            Goal("times faster than Trainer in bf16", "ratio", 1.5, TRAINER_HALF),
        ),
    ),
    Case(
        name="minilm-memory",
        title="Memory of the same",
        unit="MB",
        module="minilm_memory",
        round_seconds=100,
        less_is_better=True,
        most_rounds=1,
        goals=(
            Goal("times less memory than Trainer", "ratio", 1.25, TRAINER, in_bf16=False),
            Goal("times less memory than Trainer in bf16", "ratio", 1.25, TRAINER_HALF),
        ),
    ),
    Case(
        name="minilm-predict",
        title="Classifying 2,000 reviews with MiniLM-L6",
        unit="texts/s",
        module="minilm_predict",
        round_seconds=120,
        most_rounds=3,
        goals=(
            Goal("texts/s over the pipeline", "ratio", 2.0, PIPELINE, in_bf16=False),
            Goal("texts/s over the pipeline in bf16", "ratio", 2.0, PIPELINE_HALF),
        ),
    ),
    Case(
        name="onnx",
        title="Classifying 2,000 reviews with an exported model",
        unit="texts/s",
        module="onnx",
        round_seconds=25,
        goals=(Goal("texts/s over the pipeline", "ratio", 6.0, PIPELINE, in_bf16=True),),
        ours=ONNX,
    ),
    Case(
        name="onnx-minilm",
        title="The same with MiniLM-L6's shape",
        unit="texts/s",
        module="onnx_minilm",
        round_seconds=90,
        most_rounds=3,
        goals=(Goal("texts/s over the pipeline", "ratio", 4.0, PIPELINE, in_bf16=True),),
        ours=ONNX,
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
        goals=(Goal("seconds until the help is printed", "value", 0.3),),
    ),
    Case(
        name="cold",
        title="One text predicted by a new process",
        unit="s",
        module="cold",
        round_seconds=4,
        less_is_better=True,
        goals=(Goal("seconds until the label is printed", "value", 1.5),),
    ),
    Case(
        name="onnx-cold",
        title="The same, exported",
        unit="s",
        module="onnx_cold",
        round_seconds=1,
        less_is_better=True,
        goals=(Goal("seconds until the label is printed", "value", 0.6),),
    ),
    Case(
        name="study",
        title="A study of 6 seeds × 2 arms, --jobs 2",
        unit="s",
        module="study",
        round_seconds=150,
        less_is_better=True,
        most_rounds=2,
        goals=(Goal("times faster than one after the other", "ratio", 1.4, ONE_JOB),),
    ),
    Case(
        name="ranks",
        title="Masked training in two processes of a thread",
        unit="tokens/s",
        module="ranks",
        round_seconds=40,
        most_rounds=3,
        goals=(
            Goal("tokens/s over one process of a thread", "ratio", 1.7, ONE_RANK, in_bf16=False),
            Goal("tokens/s over one process of a thread", "ratio", 1.7, ONE_RANK_HALF),
        ),
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

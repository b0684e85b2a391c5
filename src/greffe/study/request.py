"""What a study is asked to do, in groups of options that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from greffe.config.options import STUDY_SEEDS, Reading, Tables, Training
from greffe.errors import RecipeError
from greffe.study.arms import AskedArms


@dataclass(frozen=True, kw_only=True)
class StudyRequest:
    """All options of a study."""

    arms: AskedArms
    tables: Tables
    corpus: Sequence[str | Path] = ()
    """Pretraining text, searched for the test texts."""
    reading: Reading = field(default_factory=Reading)
    seeds: int | Sequence[int] = STUDY_SEEDS
    """How many trainings of each arm, or their seeds."""
    labels: Sequence[int] = ()
    """Numbers of training labels to try in addition to all of them."""
    training: Training = field(default_factory=Training)
    """How the transformers are fine-tuned: its recipe, budget and changes."""
    keep_runs: bool = False
    """Keep the weights of every training, not only the best of each arm."""

    @property
    def paths(self) -> list[str | Path]:
        """All tables and text that are read from disk."""
        given = (self.tables.data, self.tables.valid, self.tables.test, *self.tables.aux_data)
        return [*(table for table in given if isinstance(table, str | Path)), *self.corpus]

    @property
    def seed_numbers(self) -> list[int]:
        """The seeds of the trainings."""
        seeds = self.seeds
        numbers = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
        if not numbers or len(set(numbers)) != len(numbers) or min(numbers) < 0:
            raise RecipeError(
                "These seeds cannot be used.",
                expected="how many, or different numbers from 0 on",
                found=str(seeds),
            )
        return numbers

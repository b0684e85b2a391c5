"""The trainings of a fine-tuning: one, or several from the same weights for a soup.

A training is a function of the texts, the recipe and its number, so that a worker process can do it
as well as this one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from greffe.config.components import Direction, HeadSpec
from greffe.config.recipe import Recipe
from greffe.data.batches import Batch
from greffe.data.sampler import ExampleSampler
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.evaluation.calibration import fit_temperature, scaled_windows
from greffe.evaluation.metrics import evaluate_probabilities
from greffe.inference.predict import class_probabilities, window_logits
from greffe.inference.prediction import split_windows
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import Model
from greffe.objectives.classification import ClassificationObjective
from greffe.objectives.masking import Masker
from greffe.pipelines.finetune_recipe import (
    build_masker,
    choose_direction,
    choose_pooler,
    classification_of,
)
from greffe.pipelines.fit import Evaluated, Task, kept_evaluation
from greffe.pipelines.labelled import LabelledParts, LabelledRows
from greffe.pipelines.restarts import Restartable, fit_with_restarts
from greffe.run import Calibration, RunDirectory
from greffe.seeding import derive, rng
from greffe.training.checkpoint import TrainingState
from greffe.training.collapse import Ending, last_losses
from greffe.training.distributed import World


def member_seed(seed: int, member: int) -> int:
    """Return the seed of a model's order, hidden tokens and dropout; the first has the run's."""
    return seed if member == 0 else derive(seed, "member", member)


def member_name(member: int, soup: int) -> str:
    """Return the name of a model in progress lines and notices."""
    return "fine-tune" if soup == 1 else f"fine-tune {member + 1} of {soup}"


@dataclass(frozen=True)
class Design:
    """The classifier's labels, how it reads and what its head looks like."""

    labels: list[str]
    direction: Direction
    head: ClassificationHead

    @classmethod
    def of(cls, recipe: Recipe, labels: list[str], directions: list[Direction]) -> Design:
        """Return the design that a recipe asks for, with a base that reads in these directions."""
        spec = classification_of(recipe)
        direction = choose_direction(spec, directions)
        pooler = choose_pooler(spec, direction)
        head = ClassificationHead(classes=len(labels), pooler=pooler, dropout=spec.dropout)
        return cls(labels, direction, head)

    @property
    def heads(self) -> dict[str, HeadSpec]:
        """The heads of its model."""
        return {"classification": self.head}

    @property
    def causal(self) -> bool:
        """Whether its base reads from left to right only."""
        return self.direction == "causal"


@dataclass(frozen=True)
class Classifying:
    """The texts and choices that all trainings of a fine-tuning share."""

    recipe: Recipe
    design: Design
    tokenizer: Tokenizer
    parts: LabelledParts
    rows: LabelledRows
    track: str | Sequence[str] = ()


class Members:
    """The trainings of a fine-tuning, with one model that each of them begins anew.

    `start` returns the weights that all of them begin with.
    """

    def __init__(
        self,
        shared: Classifying,
        model: Model,
        world: World,
        start: Callable[[], Mapping[str, Tensor]],
    ) -> None:
        self.shared, self.model, self.world, self.start = shared, model, world, start
        head, design, parts = classification_of(shared.recipe), shared.design, shared.parts
        counts = np.bincount(shared.rows.targets, minlength=len(parts.labels)).tolist()
        pad = shared.tokenizer.pad
        self.objective = ClassificationObjective(head, counts, causal=design.causal, pad=pad)
        self.masker = build_masker(head.token_dropout, shared.tokenizer)
        self.held_out = HeldOut(
            model, shared.tokenizer, parts.labels, parts.valid, causal=design.causal, world=world
        )

    def train(self, member: int, into: RunDirectory) -> TrainingState:
        """Train the model as it is in this folder; leave it with the weights that are kept.

        A training that collapses is restarted with a lower rate.
        """
        recipe, rows = self.shared.recipe, self.shared.rows
        spec, seed = recipe.train, member_seed(recipe.seed, member)
        sampler = ExampleSampler(seed, tuple(len(row) for row in rows.ids), spec.batch)
        task = Task(
            objective=self.objective,
            batches=_Batches(
                self.objective, rows, self.masker, sampler, seed, spec.accumulation, self.world
            ),
            evaluate=self.held_out.evaluate,
            steps_per_epoch=sampler.steps_per_epoch,
            seed=seed,
            name=member_name(member, spec.soup),
        )
        restartable = Restartable(lambda state: self._ending(state, sampler), self.start)
        return fit_with_restarts(into, self.model, task, spec, self.world, restartable)

    def _ending(self, state: TrainingState, sampler: ExampleSampler) -> Ending:
        """Return how a training ended, beside what the class frequencies alone would give."""
        rows, targets = self.shared.rows, self.held_out.targets
        loss, frequencies = last_losses(
            state.losses,
            lambda step: self.objective.loss_of_frequencies(rows.targets[sampler.step(step)]),
        )
        return Ending(
            steps=state.step,
            loss=loss,
            frequencies=frequencies,
            accuracy=kept_evaluation(state, self.shared.recipe.train)["accuracy"],
            most_frequent=max(Counter(targets).values()) / len(targets),
            texts=len(targets),
        )


@dataclass(frozen=True)
class _Batches:
    """The batches of one training: the order of the texts and the hidden tokens follow its seed."""

    objective: ClassificationObjective
    rows: LabelledRows
    masker: Masker | None
    sampler: ExampleSampler
    seed: int
    accumulation: int
    world: World

    def __call__(self, step: int) -> list[Batch]:
        indices = self.world.shard(self.sampler.step(step))
        return [
            self.objective.prepare(
                [self._row(step, int(index)) for index in part], self.rows.targets[part].tolist()
            )
            for part in np.array_split(indices, self.accumulation)
            if len(part)
        ]

    def _row(self, step: int, index: int) -> npt.NDArray[np.int64]:
        """Return a row as it is seen at this step: other tokens are hidden in each epoch."""
        row = self.rows.ids[index]
        if self.masker is None:
            return row
        return self.masker.hide(row, rng(self.seed, "token dropout", step, index))[0]


class HeldOut:
    """Labelled texts for validation, encoded once and shared out over the ranks."""

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        labels: list[str],
        examples: Sequence[Example],
        *,
        causal: bool,
        world: World,
    ) -> None:
        self.world = world
        self.model = model
        self.tokenizer = tokenizer
        self.labels = labels
        self.targets = [example.label for example in examples]
        documents = tokenizer.encode_all(example.text for example in examples)
        longest = model.spec.context - 2
        self.texts = [split_windows(ids, longest, "windows") for ids in documents]
        self.causal = causal

    def evaluate(self, _: TrainingState) -> Evaluated:
        """Return accuracy, macro F1 and log loss of the model as it is now, on all of the texts."""
        probabilities = self._probabilities()
        if not np.isfinite(probabilities).all():
            nothing = dict.fromkeys(("accuracy", "macro_f1", "log_loss"), math.nan)
            return Evaluated(score=math.nan, metrics=nothing, line="the scores are not finite")
        found = evaluate_probabilities(self.labels, self.targets, probabilities)
        metrics = {
            "accuracy": found.accuracy,
            "macro_f1": found.macro_f1,
            "log_loss": found.log_loss,
        }
        line = f"validation accuracy {found.accuracy:.1%} · log loss {found.log_loss:.3f}"
        # Equal accuracies are told apart by the log loss, which never outweighs half a text.
        score = found.accuracy - 0.05 * min(found.log_loss, 10.0) / found.examples
        return Evaluated(score=score, metrics=metrics, line=line)

    def calibrate(self) -> Calibration | None:
        """Return the temperature for the model as it is now; None if the texts give none."""
        return fit_temperature(
            self.labels, self.targets, scaled_windows(self._logits(), self.texts)
        )

    def _logits(self) -> npt.NDArray[np.float64]:
        """Return logits [windows of all texts, classes]; each rank computes those of some texts."""
        own = slice(self.world.rank, None, self.world.size)
        is_own = np.zeros(len(self.texts), bool)
        is_own[own] = True
        counts = [len(windows) for windows in self.texts]
        logits = np.zeros((sum(counts), len(self.labels)))
        logits[np.repeat(is_own, counts)] = window_logits(
            self.model, self.tokenizer, self.texts[own], causal=self.causal
        )
        return self.world.sum_array(logits)

    def _probabilities(self) -> npt.NDArray[np.float64]:
        """Return probabilities [texts, classes], of which each rank computes some rows."""
        own = slice(self.world.rank, None, self.world.size)
        probabilities = np.zeros((len(self.texts), len(self.labels)))
        probabilities[own] = class_probabilities(
            self.model, self.tokenizer, self.texts[own], causal=self.causal
        )
        return self.world.sum_array(probabilities)

"""The models that `greffe fit` tries: each can be trained on some texts, and finally on all.

A model is cross-validated by `held_out_probabilities` and written by `write`.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from greffe.baselines.ensembling import ensemble_probabilities
from greffe.baselines.features import FeatureCache
from greffe.baselines.latent import LatentSemantics
from greffe.baselines.linear_classifier import fit_linear
from greffe.baselines.linear_runs import open_feature_run
from greffe.config.options import Computing, Output, Tables, Training
from greffe.config.sections import ModelSpec
from greffe.config.spans import Span
from greffe.data.tables import Example
from greffe.pipelines.auxiliary import AuxiliaryTables
from greffe.pipelines.ensemble import ensemble
from greffe.pipelines.finetune import finetune
from greffe.pipelines.finetune_recipe import Start, finetune_recipe
from greffe.pipelines.linear import linear
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.seeding import derive

CHARACTERS_PER_TOKEN = 4
USUAL_EPOCHS = 2.0
"""Of a recipe whose budget is not in epochs."""
FLOPS_PER_WEIGHT = 6
FLOPS_PER_SECOND = 100e9
"""Of two ordinary cores; the first fold is measured, this decides only whether it is begun."""


@dataclass(frozen=True)
class Labelled:
    """All labelled texts and their classes."""

    examples: list[Example]
    labels: list[str]


class TriedModel(ABC):
    """One model of the ladder."""

    name: str
    is_quick: ClassVar[bool] = True
    """Whether a training takes moments: it is repeated where texts are few."""

    @property
    def key(self) -> str:
        """Name of its results on disk: the same only for the same training."""
        return self.name

    @abstractmethod
    def held_out_probabilities(
        self, train: list[Example], tested: list[Example], labels: list[str], seed: int
    ) -> np.ndarray:
        """Train on some texts; return the probabilities [tested, classes] of others."""

    @abstractmethod
    def write(self, data: Labelled, out: Path, seed: int) -> RunDirectory:
        """Train on all labelled texts; write the run."""

    def estimated_seconds(self, texts: Sequence[str]) -> float:
        """Return about how long a training on so many texts takes; 0: moments."""
        return 0.0


@dataclass
class LinearModel(TriedModel):
    """Logistic regression on TF-IDF, a base's features or both; optionally with auxiliary data."""

    name: str
    computing: Computing
    auxiliary: AuxiliaryTables | None = None
    base: RunDirectory | None = None
    cache: FeatureCache | None = None
    latent: LatentSemantics | None = None
    tfidf: bool = True

    def held_out_probabilities(
        self, train: list[Example], tested: list[Example], labels: list[str], seed: int
    ) -> np.ndarray:
        with quiet():
            classifier = fit_linear(
                train,
                labels,
                tfidf=self.tfidf,
                base=self.cache,
                auxiliary=self.auxiliary.auxiliary if self.auxiliary else None,
                latent=self.latent,
                seed=seed,
            )
            return classifier.probabilities([example.text for example in tested])

    def write(self, data: Labelled, out: Path, seed: int) -> RunDirectory:
        tables = self.auxiliary.tables if self.auxiliary else []
        return linear(
            Tables(data=data.examples, aux_data=tables),
            Output(out=out, overwrite=True),
            parent=self.base,
            tfidf=self.tfidf,
            latent=self.latent,
            seed=seed,
            computing=self.computing,
        )


@dataclass
class Network(TriedModel):
    """A base, fine-tuned on the labels."""

    is_quick: ClassVar[bool] = False
    name: str
    base: RunDirectory
    training: Training
    work: Path
    """Folder for trainings that are only measured."""
    number: int = 0
    """Of several trainings on the same texts, which differ in their seed."""

    @property
    def key(self) -> str:
        soup = finetune_recipe(Start(parent=self.base), self.training).train.soup
        return f"{self.name}-soup-{soup}" + (f"-number-{self.number}" if self.number else "")

    def single(self) -> Network:
        """Return the same model without a soup: faster, and a little less accurate."""
        return replace(self, training=replace(self.training, soup=1))

    def again(self, number: int) -> Network:
        """Return the same model with another seed."""
        return replace(self, number=number)

    def held_out_probabilities(
        self, train: list[Example], tested: list[Example], labels: list[str], seed: int
    ) -> np.ndarray:
        with quiet():
            # The tested texts are evaluated after each epoch, but choose nothing: the last weights
            # are kept.
            run = self._finetune(train, tested, self.work, seed)
            probabilities = open_feature_run(run).probabilities([each.text for each in tested])
        columns = [run.manifest().labels.index(label) for label in labels]
        shutil.rmtree(self.work)
        return probabilities[:, columns]

    def write(self, data: Labelled, out: Path, seed: int) -> RunDirectory:
        # All labels train; a run needs some for validation, which choose nothing here.
        return self._finetune(data.examples, data.examples[: len(data.labels) * 20], out, seed)

    def _finetune(
        self, train: list[Example], valid: list[Example], out: Path, seed: int
    ) -> RunDirectory:
        return finetune(
            Tables(data=train, valid=valid),
            Output(out=out, overwrite=True),
            start=Start(parent=self.base),
            training=replace(
                self.training,
                seed=derive(seed, "network", self.number) if self.number else seed,
                changes=[*self.training.changes, "train.keep=last"],
            ),
            calibrates=False,
        )

    def estimated_seconds(self, texts: Sequence[str]) -> float:
        recipe = finetune_recipe(Start(parent=self.base), self.training)
        spec, span = recipe.train, Span.parse(recipe.train.budget)
        epochs = span.amount if span.unit == "epochs" else USUAL_EPOCHS
        epochs = max(epochs, spec.least_steps * spec.batch / len(texts))
        return training_seconds(recipe.model, texts, epochs * spec.soup)


@dataclass
class Repeated(TriedModel):
    """Trainings of one network with several seeds, whose predictions are averaged."""

    is_quick: ClassVar[bool] = False
    name: str
    networks: Sequence[Network]

    def held_out_probabilities(
        self, train: list[Example], tested: list[Example], labels: list[str], seed: int
    ) -> np.ndarray:
        return ensemble_probabilities(
            [each.held_out_probabilities(train, tested, labels, seed) for each in self.networks]
        )

    def write(self, data: Labelled, out: Path, seed: int) -> RunDirectory:
        runs = [
            each.write(data, out.with_name(f"{out.name}-{each.number}"), seed)
            for each in self.networks
        ]
        return ensemble(runs, Output(out=out, overwrite=True))


def training_seconds(model: ModelSpec, texts: Sequence[str], epochs: float) -> float:
    """Return about how long a network of this shape trains on texts."""
    most = CHARACTERS_PER_TOKEN * model.context
    tokens = sum(min(len(text), most) for text in texts) / CHARACTERS_PER_TOKEN
    weights = model.layers * model.width * (4 * model.width + 2 * model.expanded)
    return tokens * epochs * weights * FLOPS_PER_WEIGHT / FLOPS_PER_SECOND

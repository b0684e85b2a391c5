"""Try models for some labels within a time, from the cheapest to the dearest.

TF-IDF → the base as it is → pretraining on text → the base that knows the text. Then
the other bases, if several were given. With auxiliary labels, each takes them in. A name says what
a model has seen, and which of the other bases it is: `finetuned+text+aux`, `finetuned+aux@NAME`.
TF-IDF sees a text by its latent semantic analysis, which takes a minute. With the time that is
left the best network is trained again with other seeds: `finetuned×3` averages three.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from greffe.auto.choice import OutOfFold, accuracy_by_text, accuracy_of, join
from greffe.auto.cross_validate import FOLDS, CrossValidation, Tried
from greffe.auto.document import OTHER, TIMES, Stage
from greffe.auto.models import Labelled, LinearModel, Network, Repeated, TriedModel
from greffe.auto.preparing import (
    auxiliary_seconds,
    learn_auxiliary,
    pretrain_base,
    pretraining_seconds,
)
from greffe.baselines.features import BaseReader, FeatureCache
from greffe.baselines.latent import LatentSemantics
from greffe.config.options import Computing, Reading, Training
from greffe.errors import DataError
from greffe.evaluation.intervals import Estimate
from greffe.pipelines.auxiliary import AuxiliaryTables
from greffe.pipelines.linear import analyse_sources
from greffe.progress import notice
from greffe.run import RunDirectory

TFIDF = "tfidf"
AUX, TEXT = "+aux", "+text"
MOST_BEFORE_TEXT = 0.3
"""Of the time left: the most that a network without the text may take before the pretraining."""
MOST_AUXILIARY = 0.4
"""Of the time left: the most that the auxiliary labels of one network may take."""
MOST_LINEAR = 0.15
"""Of the time left: the most that one more linear model with auxiliary labels may take."""
LEAST_AUXILIARY = 0.05
"""Of the auxiliary texts: fewer are not worth a network."""
MOST_REPEATS = 5
"""Trainings of a network that are averaged: each makes every prediction slower."""


@dataclass(frozen=True)
class Inputs:
    """What a search was given."""

    data: Labelled
    auxiliary: AuxiliaryTables
    unlabelled: Sequence[str | Path]
    bases: Sequence[RunDirectory]
    """The first is pretrained on the text, if there is text; the others are tried as they are."""
    training: Training
    reading: Reading
    seed: int

    @property
    def base(self) -> RunDirectory | None:
        """The first base."""
        return self.bases[0] if self.bases else None

    @property
    def has_auxiliary(self) -> bool:
        return bool(self.auxiliary.tables)

    @property
    def auxiliary_or_none(self) -> AuxiliaryTables | None:
        """The auxiliary tables, if there are any."""
        return self.auxiliary if self.has_auxiliary else None

    @property
    def computing(self) -> Computing:
        given = self.training
        return Computing(device=given.device or "auto", precision=given.precision or "auto")

    @property
    def finetuning(self) -> Training:
        """The options of a fine-tuning: without the budget, which is that of the whole search."""
        given = self.training
        return Training(
            soup=given.soup,
            jobs=given.jobs,
            device=given.device,
            precision=given.precision,
            changes=given.changes,
        )


@dataclass
class Search:
    """What is known so far."""

    cross_validation: CrossValidation
    tried: dict[str, Tried] = field(default_factory=dict)
    skipped: dict[str, float] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)

    def attempt(self, model: TriedModel) -> None:
        """Cross-validate a model, unless there is no time for it."""
        found = self.cross_validation.try_model(model, self.best())
        if isinstance(found, float):
            self.skip(model.name, found)
        else:
            self.tried[model.name] = found

    def skip(self, name: str, seconds: float) -> None:
        """Note that there is no time for a model."""
        notice(f"{name}: skipped, it needs about {seconds / 60:.0f} min")
        self.skipped[name] = seconds

    def best(self) -> Tried | None:
        """The model with the highest accuracy so far."""
        finished = self.finished().values()
        return max(finished, key=lambda one: self.accuracy(one).mean, default=None)

    def finished(self) -> dict[str, Tried]:
        """The models that may be chosen: those that were stopped know few of the texts."""
        return {name: one for name, one in self.tried.items() if one.stopped_after is None}

    def by_text(self, probabilities: np.ndarray) -> np.ndarray:
        """Return how often each text is classified correctly."""
        return accuracy_by_text(probabilities, self.cross_validation.targets)

    def accuracy(self, tried: Tried) -> Estimate:
        """Return a model's cross-validated accuracy."""
        return accuracy_of(self.by_text(tried.predictions.probabilities))


def search_models(search: Search, inputs: Inputs, parts: Path) -> None:
    """Cross-validate all models that fit into the time; bases are written to `parts`."""
    aux = inputs.auxiliary_or_none
    search.attempt(LinearModel(TFIDF, inputs.computing))
    if aux:
        search.attempt(LinearModel(TFIDF + AUX, inputs.computing, aux))
    latent = _analyse(search, inputs)
    if latent is not None:
        name = _with_aux(TFIDF + TEXT, inputs)
        _try_linear(search, LinearModel(name, inputs.computing, aux, latent=latent))
    if inputs.unlabelled:
        _try_with_text(search, inputs, parts)
    elif inputs.base is not None:
        _try_base(search, inputs, inputs.base, parts)
    for base, name in zip(inputs.bases[1:], unique_names(inputs.bases)[1:], strict=True):
        _try_base(search, inputs, base, parts, which=f"{OTHER}{name}")
    _repeat_best(search)


def unique_names(bases: Sequence[RunDirectory]) -> list[str]:
    """Return the names of the bases' folders; those that occur twice are numbered."""
    names: list[str] = []
    for base in bases:
        name = base.path.name
        count = sum(one.path.name == name for one in bases[: len(names)])
        names.append(f"{name}-{count + 1}" if count else name)
    return names


def _try_with_text(search: Search, inputs: Inputs, parts: Path) -> None:
    """Try the first base as it is, if there is time, then pretrained on the text."""
    clock = search.cross_validation.clock
    if inputs.base is not None:
        # What the text was worth, and a second network for the ensemble.
        needed = _network_seconds(inputs, inputs.base)
        if needed <= MOST_BEFORE_TEXT * clock.left:
            _try_network(search, inputs, inputs.base, parts)
    seconds = pretraining_seconds(parts / "base", clock)
    own, stage = pretrain_base(
        inputs.base,
        inputs.unlabelled,
        parts / "base",
        seconds=seconds,
        training=inputs.training,
        reading=inputs.reading,
        seed=inputs.seed,
    )
    search.stages.append(stage)
    _try_base(search, inputs, own, parts, TEXT)


def _analyse(search: Search, inputs: Inputs) -> LatentSemantics | None:
    """Return the latent semantic analysis of the text, if there is enough of it."""
    if not inputs.unlabelled:
        return None
    began = time.monotonic()
    try:
        latent = analyse_sources(inputs.unlabelled, inputs.reading, inputs.seed)
    except DataError as error:
        notice(f"latent semantic analysis: left out. {error.message}")
        return None
    search.stages.append(Stage(name="semantics", seconds=time.monotonic() - began, size=None))
    return latent


def _with_aux(name: str, inputs: Inputs) -> str:
    return name + AUX if inputs.has_auxiliary else name


def _try_linear(search: Search, model: LinearModel) -> None:
    """Try a linear model; many auxiliary texts must not take the time of the networks."""
    before = search.tried.get(TFIDF + AUX)
    if before is not None and before.seconds > MOST_LINEAR * search.cross_validation.clock.left:
        search.skip(model.name, before.seconds)
    else:
        search.attempt(model)


def _try_base(
    search: Search,
    inputs: Inputs,
    base: RunDirectory,
    parts: Path,
    suffix: str = "",
    which: str = "",
) -> None:
    """Try a base's features alone and beside TF-IDF, then the base itself."""
    cache = FeatureCache(BaseReader.of(base, inputs.computing))
    alone = LinearModel(f"features{suffix}{which}", inputs.computing, None, base, cache)
    search.attempt(replace(alone, tfidf=False))
    name = _with_aux(f"stacked{suffix}", inputs) + which
    _try_linear(search, replace(alone, name=name, auxiliary=inputs.auxiliary_or_none))
    _try_network(search, inputs, base, parts, suffix, which)


def _try_network(
    search: Search,
    inputs: Inputs,
    base: RunDirectory,
    parts: Path,
    suffix: str = "",
    which: str = "",
) -> None:
    """Fine-tune a base in every fold, on auxiliary labels before if there are any."""
    clock, start = search.cross_validation.clock, base
    if inputs.has_auxiliary:
        suffix += AUX
        needed = auxiliary_seconds(base, inputs.auxiliary.tables)
        if MOST_AUXILIARY * clock.left < LEAST_AUXILIARY * needed:
            search.skip(f"finetuned{suffix}{which}", needed)
            return
        start, stage = learn_auxiliary(
            base,
            inputs.data.examples,
            inputs.auxiliary.tables,
            parts / (suffix + which).lstrip("+"),
            seconds=MOST_AUXILIARY * clock.left,
            training=inputs.training,
            seed=inputs.seed,
        )
        search.stages.append(stage)
    network = Network(f"finetuned{suffix}{which}", start, inputs.finetuning, parts / "fold")
    if _all_folds(network, inputs) > clock.left and inputs.training.soup is None:
        notice(f"{network.name}: one training per fold instead of a soup, to fit into the time")
        network = network.single()
    search.attempt(network)


def _repeat_best(search: Search) -> None:
    """Train the best network again with other seeds while there is time, and average them."""
    found = [one for one in search.finished().values() if one.folds == FOLDS]
    networks = [(one, one.model) for one in found if isinstance(one.model, Network)]
    if not networks:
        return
    first, network = max(networks, key=lambda one: search.accuracy(one[0]).mean)
    clock, trained, members = search.cross_validation.clock, [first], [network]
    while len(trained) < MOST_REPEATS:
        # All folds of one more, and the final trainings of every network.
        finals = sum(one.fold_seconds for one, _ in networks) + first.fold_seconds * len(trained)
        if FOLDS * first.fold_seconds + finals > clock.left:
            break
        another = network.again(len(trained))
        tried = search.cross_validation.try_model(another)
        if isinstance(tried, float) or tried.folds < FOLDS:
            break
        trained.append(tried)
        members.append(another)
    if len(trained) > 1:
        repeated = f"{network.name}{TIMES}{len(trained)}"
        search.tried[repeated] = Tried(
            Repeated(repeated, members),
            OutOfFold(join([one.predictions for one in trained])),
            seconds=sum(one.seconds for one in trained),
            fold_seconds=sum(one.fold_seconds for one in trained),
            folds=FOLDS,
        )


def _network_seconds(inputs: Inputs, base: RunDirectory) -> float:
    """Return about how long a network takes: its auxiliary labels, its folds, the final one."""
    auxiliary = auxiliary_seconds(base, inputs.auxiliary.tables)
    return auxiliary + _all_folds(Network("", base, inputs.finetuning, Path()), inputs)


def _all_folds(network: Network, inputs: Inputs) -> float:
    texts = [example.text for example in inputs.data.examples]
    return (FOLDS + 1) * network.estimated_seconds(texts)

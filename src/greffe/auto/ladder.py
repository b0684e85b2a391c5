"""What a search found, as the document of `greffe fit`: the ladder, its costs, what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from greffe.auto.choice import Choice, OutOfFold, accuracy_of, gain_of, join
from greffe.auto.cross_validate import FOLDS
from greffe.auto.document import FitDocument, Rung
from greffe.auto.models import Labelled
from greffe.auto.search import TFIDF, Inputs, Search
from greffe.baselines.linear_runs import prediction_files
from greffe.data.text import find_sources
from greffe.evaluation.intervals import Estimate
from greffe.run import RunDirectory, this_moment
from greffe.seeding import rng

ENOUGH_TO_HALVE = 100
"""Texts from which on a model of half of them says what more labels bring."""


def describe_search(
    search: Search,
    inputs: Inputs,
    choice: Choice,
    findings: list[str],
    finals: Mapping[str, RunDirectory],
) -> FitDocument:
    """Return the ladder, the costs and what to do next."""
    validation, data = search.cross_validation, inputs.data
    document = FitDocument(
        created=this_moment(),
        labels=data.labels,
        texts=len(data.examples),
        auxiliary=inputs.auxiliary.texts,
        unlabelled=[Path(source).name for source in find_sources(inputs.unlabelled)]
        if inputs.unlabelled
        else [],
        bases=[base.name for base in inputs.bases],
        budget=validation.clock.budget,
        seconds=validation.clock.spent,
        folds=FOLDS,
        repeats=validation.repeats,
        stages=search.stages,
        rungs=_ladder(search, choice, finals),
        skipped=search.skipped,
        chosen=list(choice.members),
        expected=choice.expected,
        over_tfidf=_over_tfidf(search, choice),
        doubling=_doubling(search, data, inputs.seed),
        advice=[],
        findings=findings,
    )
    return document.model_copy(update={"advice": _advice(document)})


def _ladder(search: Search, choice: Choice, finals: Mapping[str, RunDirectory]) -> list[Rung]:
    """Return the majority class, every model that was tried, and the ensemble if it was chosen."""
    targets = search.cross_validation.targets
    majority = (targets == np.bincount(targets).argmax()).astype(float)
    rungs = [Rung(name="majority", accuracy=accuracy_of(majority), seconds=0.0)]
    best_name, best = "majority", majority

    def add(name: str, by_text: np.ndarray, seconds: float, **further: int | None) -> None:
        nonlocal best_name, best
        accuracy, gain = accuracy_of(by_text), gain_of(by_text, best)
        rungs.append(
            Rung(
                name=name, accuracy=accuracy, over=best_name, gain=gain, seconds=seconds, **further
            )
        )
        if gain.mean > 0 and further.get("stopped_after") is None:
            best_name, best = name, by_text

    for name, tried in search.tried.items():
        size = _size(finals[name]) if name in finals else None
        by_text = search.by_text(tried.predictions.probabilities)
        add(name, by_text, tried.seconds, size=size, stopped_after=tried.stopped_after)
    if len(choice.members) > 1:
        joined = join([search.tried[name].predictions for name in choice.members])
        seconds = sum(search.tried[name].seconds for name in choice.members)
        size = sum(map(_size, finals.values()))
        add("ensemble", search.by_text(joined), seconds, size=size)
    return rungs


def _size(run: RunDirectory) -> int:
    """Return the bytes of the files that a run predicts with, its own runs included."""
    return sum((run.path / name).stat().st_size for name in prediction_files(run.path))


def _over_tfidf(search: Search, choice: Choice) -> Estimate | None:
    """Return what the chosen models gain over TF-IDF on your labels alone."""
    if choice.members == (TFIDF,):
        return None
    chosen = join([search.tried[name].predictions for name in choice.members])
    tfidf = search.tried[TFIDF].predictions.probabilities
    return gain_of(search.by_text(chosen), search.by_text(tfidf))


def _doubling(search: Search, data: Labelled, seed: int) -> Estimate | None:
    """Return what TF-IDF gains from all labels over half of them, in each training part."""
    if len(data.examples) < ENOUGH_TO_HALVE or TFIDF not in search.tried:
        return None
    tried, validation = search.tried[TFIDF], search.cross_validation
    halved = np.full(tried.predictions.probabilities.shape, np.nan)
    for repeat, fold, train, test in validation.parts(1):
        draw = rng(seed, "half", fold)
        kept = [
            int(index)
            for target in range(len(data.labels))
            for index in _half(train[validation.targets[train] == target], draw)
        ]
        halved[repeat, test] = tried.model.held_out_probabilities(
            [data.examples[index] for index in sorted(kept)],
            [data.examples[index] for index in test],
            data.labels,
            seed,
        )
    full = OutOfFold(tried.predictions.probabilities[:1])
    return gain_of(search.by_text(full.probabilities), search.by_text(halved[:1]))


def _half(indices: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    return draw.permutation(indices)[: max(1, len(indices) // 2)]


def _advice(document: FitDocument) -> list[str]:
    """Return ids of what to do next, the most useful first."""
    advice = []
    if document.doubling is not None and document.doubling.low > 0:
        advice.append("labels")
    if not document.auxiliary:
        advice.append("auxiliary")
    if not document.unlabelled:
        advice.append("text")
    if document.skipped or any(rung.stopped_after for rung in document.rungs):
        advice.append("time")
    return [*advice, "base"]

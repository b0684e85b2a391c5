"""greffe fit: labelled texts, and what else there is → the best classifier within a time.

Doctor → TF-IDF → pretraining on text → auxiliary labels → fine-tuning → ensemble. Every choice is
made by cross-validation inside the labelled texts; the chosen models are trained on all of them.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from greffe.auto.choice import (
    Choice,
    OutOfFold,
    accuracy_by_text,
    accuracy_of,
    choose_members,
    gain_of,
    join,
)
from greffe.auto.cross_validate import FOLDS, Clock, CrossValidation, Tried
from greffe.auto.document import FIT_FILE, FitDocument, Rung, Stage
from greffe.auto.fit_page import write_fit_page
from greffe.auto.models import Labelled, LinearModel, Network, TriedModel
from greffe.auto.preparing import (
    PRETRAINING_FRACTION,
    choose_base,
    folder_size,
    learn_auxiliary,
    pretrain_base,
)
from greffe.baselines.ensembling import ensemble_classifier
from greffe.baselines.features import BaseReader, FeatureCache
from greffe.baselines.linear_runs import open_feature_run, write_linear_run
from greffe.config.options import Computing, Output, Reading, Tables, Training
from greffe.config.spans import Span
from greffe.config.spec import Spec
from greffe.data.tables import Example, label_order
from greffe.data.text import find_sources
from greffe.doctor.descriptions import describe
from greffe.doctor.examine import examine
from greffe.errors import MismatchError, RecipeError
from greffe.evaluation.calibration import fit_temperature, scale_probabilities
from greffe.evaluation.intervals import Estimate
from greffe.output_folder import PARTS, OutputFolder
from greffe.pipelines.auxiliary import AuxiliaryTables, open_auxiliary
from greffe.pipelines.labelled import check_classes, data_hash, load_examples, table_paths
from greffe.pipelines.model_card import write_model_card
from greffe.progress import notice
from greffe.report.number_format import Language
from greffe.run import RUN_FILE, RunDirectory, this_moment
from greffe.seeding import rng
from greffe.storage import read_model, write_json
from greffe.training.compute import set_up_compute

DEFAULT_BUDGET = "20m"
TFIDF = "tfidf"
ENOUGH_TO_HALVE = 100
"""Texts from which on a model of half of them says what more labels bring."""
PLAN_FILE = "plan.json"


class _Plan(Spec):
    """What a fit was started with, and the seconds that it has taken so far."""

    data: dict[str, str]
    seed: int
    base: str | None
    """Hash of its weights."""
    unlabelled: list[str]
    spent: float = 0.0


@dataclass
class _State:
    """What is known so far."""

    cross_validation: CrossValidation
    tried: dict[str, Tried] = field(default_factory=dict)
    skipped: dict[str, float] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)

    def attempt(self, model: TriedModel) -> None:
        """Cross-validate a model, unless there is no time for it."""
        found = self.cross_validation.try_model(model, self.best())
        if isinstance(found, float):
            notice(f"{model.name}: skipped, it needs about {found / 60:.0f} min")
            self.skipped[model.name] = found
        else:
            self.tried[model.name] = found

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


def fit(
    tables: Tables,
    output: Output,
    *,
    unlabelled: Sequence[str | Path] = (),
    base_source: str | Path | None = None,
    training: Training = Training(),
    reading: Reading = Reading(),
    language: Language = "en",
) -> RunDirectory:
    """Find, train and write the best classifier for these labels."""
    budget = _seconds(training.budget or DEFAULT_BUDGET)
    seed = training.seed or 0
    threads = set_up_compute()
    sources = [*table_paths(tables), *unlabelled]
    with OutputFolder(
        output.out,
        markers=(RUN_FILE,),
        overwrite=output.overwrite,
        resume=output.resume,
        sources=sources,
    ) as folder:
        run = RunDirectory(folder.path)
        if folder.resuming and (run.path / RUN_FILE).exists():
            notice(f"{run.path} is already finished, nothing to do")
            return run
        examples = load_examples(tables.data, reading)
        labels = label_order(example.label for example in examples)
        check_classes(labels, examples)
        auxiliary = open_auxiliary(tables.aux_data, labels, reading, known=examples)
        texts_without_labels = find_sources(unlabelled) if unlabelled else []
        findings = _examine(examples, language)
        base = choose_base(base_source, examples)
        hashes = {"train": data_hash(examples), **auxiliary.hashes}
        folder.begin()
        parts = folder.path / PARTS
        parts.mkdir(exist_ok=True)
        plan = _open_plan(
            parts / PLAN_FILE,
            _Plan(
                data=hashes,
                seed=seed,
                base=base.manifest().weights if base else None,
                unlabelled=[Path(source).name for source in texts_without_labels],
            ),
        )
        clock = Clock(budget, plan.spent)
        _announce(examples, labels, auxiliary, texts_without_labels, base, budget)
        data = Labelled(examples, labels)
        state = _State(CrossValidation(data, parts / "folds", clock, seed))
        try:
            _try_everything(
                state, data, auxiliary, unlabelled, base, parts, training, reading, seed
            )
            choice = choose_members(
                {name: one.predictions for name, one in state.finished().items()},
                state.cross_validation.targets,
                seed,
            )
            finals = _write_members(state, choice, data, parts, seed)
        finally:
            _write_plan(parts / PLAN_FILE, plan.model_copy(update={"spent": clock.spent}))
        document = _document(state, choice, data, auxiliary, base, findings, finals).model_copy(
            update={
                "unlabelled": plan.unlabelled,
                "doubling": _doubling(state, data, seed),
                "seconds": clock.spent,
            }
        )
        document = document.model_copy(update={"advice": _advice(document)})
        # The run comes last: with its manifest, the fit is finished.
        write_json(run.path / FIT_FILE, document.model_dump(mode="json"))
        write_fit_page(document, run.path, language)
        _write_run(folder.path, state, choice, document, finals, threads, hashes)
        shutil.rmtree(parts / "final", ignore_errors=True)
    notice(f"run written to {run.path}")
    return run


# --- before the work ------------------------------------------------------------------------------


def _seconds(budget: str) -> float:
    span = Span.parse(budget)
    if span.unit != "seconds":
        raise RecipeError(
            "The budget of greffe fit is a time.",
            expected="--budget 20m, 1h30m or 90s",
            found=f"--budget {budget}",
        )
    return span.amount


def _examine(examples: list[Example], language: Language) -> list[str]:
    """Return what the doctor finds to be serious, as sentences."""
    serious = [found for found in examine({"train": examples}) if found.severity == "serious"]
    for found in serious:
        notice(f"doctor: {describe(found)[0]}")
    return [describe(found, language)[0] for found in serious]


def _open_plan(path: Path, plan: _Plan) -> _Plan:
    """Return the plan with the seconds of earlier processes; only the same plan is resumed."""
    if not path.exists():
        _write_plan(path, plan)
        return plan
    before = read_model(_Plan, path, "the plan of an interrupted fit")
    if before.model_copy(update={"spent": 0.0}) != plan:
        raise MismatchError(
            f"{path.parent.parent} was started with other data, another base or another seed.",
            hint="resume with the same files, base and seed, or start again with --overwrite",
        )
    return before


def _write_plan(path: Path, plan: _Plan) -> None:
    write_json(path, plan.model_dump(mode="json"))


def _announce(
    examples: list[Example],
    labels: list[str],
    auxiliary: AuxiliaryTables,
    unlabelled: Sequence[object],
    base: RunDirectory | None,
    budget: float,
) -> None:
    """Say what there is, and what will be done with it."""
    has_text = bool(unlabelled)
    steps = [
        "TF-IDF",
        *(["TF-IDF with auxiliary labels"] if auxiliary.tables else []),
        *(
            [f"pretraining on your text ({PRETRAINING_FRACTION * budget / 60:.0f} min)"]
            if has_text
            else []
        ),
        *(["the base's features beside TF-IDF"] if base or has_text else []),
        *(["fine-tuning on auxiliary labels"] if auxiliary.tables and (base or has_text) else []),
        *(["fine-tuning on your labels"] if base or has_text else []),
        "ensembles",
    ]
    notice(
        f"fit: {len(examples):,} texts, {len(labels)} classes, {auxiliary.texts:,} auxiliary "
        f"texts, base {base.name if base else 'new' if has_text else 'none'}, "
        f"{budget / 60:.0f} min\nplan: {' → '.join(steps)}; each by {FOLDS}-fold cross-validation"
    )


# --- the work -------------------------------------------------------------------------------------


def _try_everything(
    state: _State,
    data: Labelled,
    auxiliary: AuxiliaryTables,
    unlabelled: Sequence[str | Path],
    base: RunDirectory | None,
    parts: Path,
    training: Training,
    reading: Reading,
    seed: int,
) -> None:
    """Cross-validate the models from the cheapest to the dearest."""
    clock = state.cross_validation.clock
    computing = Computing(device=training.device or "auto", precision=training.precision or "auto")
    aux = auxiliary if auxiliary.tables else None
    state.attempt(LinearModel(TFIDF, computing))
    if aux:
        state.attempt(LinearModel(f"{TFIDF}+aux", computing, aux))
    if unlabelled:
        seconds = min(PRETRAINING_FRACTION * clock.budget, 0.6 * clock.left)
        begun = RunDirectory(parts / "base")
        if (begun.path / RUN_FILE).exists():  # resumed with the time that it was started with
            seconds = _seconds(begun.recipe().train.budget)
        base, stage = pretrain_base(
            base,
            unlabelled,
            parts / "base",
            seconds=seconds,
            training=training,
            reading=reading,
            seed=seed,
        )
        state.stages.append(stage)
    if base is None:
        return
    cache = FeatureCache(BaseReader.of(base, computing))
    name = "stacked+aux" if aux else "stacked"
    state.attempt(LinearModel(name, computing, aux, base, cache))
    start = base
    if aux:
        start, stage = learn_auxiliary(
            base, data.examples, auxiliary.tables, parts / "aux", training=training, seed=seed
        )
        state.stages.append(stage)
    name = "finetuned+aux" if aux else "finetuned"
    network = Network(name, start, _finetuning(training), parts / "fold")
    texts = [example.text for example in data.examples]
    if (FOLDS + 1) * network.estimated_seconds(texts) > clock.left and training.soup is None:
        notice(f"{name}: one training per fold instead of a soup, to fit into the time")
        network = network.single()
    state.attempt(network)


def _finetuning(training: Training) -> Training:
    return Training(
        soup=training.soup,
        jobs=training.jobs,
        device=training.device,
        precision=training.precision,
        changes=training.changes,
    )


def _write_members(
    state: _State, choice: Choice, data: Labelled, parts: Path, seed: int
) -> dict[str, RunDirectory]:
    """Train the chosen models on all labelled texts."""
    finals = {}
    for name in choice.members:
        tried, began = state.tried[name], time.monotonic()
        notice(f"{name}: training on all {len(data.examples):,} labelled texts")
        run = tried.model.write(data, parts / "final" / name, seed)
        # What was measured on texts that it had not seen, instead of on those that it was given.
        result = {**run.manifest().result, "accuracy": state.accuracy(tried).mean}
        result.pop("log_loss", None)
        result.pop("macro_f1", None)
        run.write_manifest(run.manifest().model_copy(update={"result": result}))
        tried.seconds += time.monotonic() - began
        finals[name] = run
    return finals


# --- what was found -------------------------------------------------------------------------------


def _document(
    state: _State,
    choice: Choice,
    data: Labelled,
    auxiliary: AuxiliaryTables,
    base: RunDirectory | None,
    findings: list[str],
    finals: dict[str, RunDirectory],
) -> FitDocument:
    validation = state.cross_validation
    return FitDocument(
        created=this_moment(),
        labels=data.labels,
        texts=len(data.examples),
        auxiliary=auxiliary.texts,
        unlabelled=[],
        base=base.name if base else None,
        budget=validation.clock.budget,
        seconds=validation.clock.spent,
        folds=FOLDS,
        repeats=validation.repeats,
        stages=state.stages,
        rungs=_ladder(state, choice, finals),
        skipped=state.skipped,
        chosen=list(choice.members),
        expected=choice.expected,
        doubling=None,
        advice=[],
        findings=findings,
    )


def _ladder(state: _State, choice: Choice, finals: dict[str, RunDirectory]) -> list[Rung]:
    """Return the majority class, every model that was tried, and the ensemble if it was chosen."""
    targets = state.cross_validation.targets
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

    for name, tried in state.tried.items():
        size = folder_size(finals[name]) if name in finals else None
        by_text = state.by_text(tried.predictions.probabilities)
        add(name, by_text, tried.seconds, size=size, stopped_after=tried.stopped_after)
    if len(choice.members) > 1:
        joined = join([state.tried[name].predictions for name in choice.members])
        seconds = sum(state.tried[name].seconds for name in choice.members)
        size = sum(folder_size(run) for run in finals.values())
        add("ensemble", state.by_text(joined), seconds, size=size)
    return rungs


def _doubling(state: _State, data: Labelled, seed: int) -> Estimate | None:
    """Return what TF-IDF gains from all labels over half of them, in each training part."""
    if len(data.examples) < ENOUGH_TO_HALVE or TFIDF not in state.tried:
        return None
    tried, validation = state.tried[TFIDF], state.cross_validation
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
    return gain_of(state.by_text(full.probabilities), state.by_text(halved[:1]))


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


def _write_run(
    folder: Path,
    state: _State,
    choice: Choice,
    document: FitDocument,
    finals: dict[str, RunDirectory],
    threads: int,
    hashes: dict[str, str],
) -> None:
    """Write the chosen models as one run, calibrated on their out-of-fold predictions."""
    runs = [finals[name] for name in choice.members]
    readers = [open_feature_run(run) for run in runs]
    labels_of = [run.manifest().labels for run in runs]
    run = write_linear_run(
        folder,
        ensemble_classifier(readers, labels_of, document.labels),
        document.labels,
        parent=None,
        feature_runs=runs,
        threads=threads,
        data=hashes,
        result={
            "texts": document.texts,
            "accuracy": document.expected.mean,
            "seconds": round(document.seconds, 1),
        },
    )
    joined = join([state.tried[name].predictions for name in choice.members])[0]
    is_known = np.isfinite(joined).all(axis=1)
    examples = state.cross_validation.data.examples
    targets = [one.label for one, known in zip(examples, is_known, strict=True) if known]
    calibration = fit_temperature(
        document.labels,
        targets,
        lambda temperature: scale_probabilities(joined[is_known], temperature),
    )
    run.write_manifest(run.manifest().model_copy(update={"calibration": calibration}))
    write_model_card(run)

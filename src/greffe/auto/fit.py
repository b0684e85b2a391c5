"""greffe fit: labelled texts, and what else there is → the best classifier within a time.

Doctor → TF-IDF → pretraining on text → auxiliary labels → fine-tuning → ensemble. Every choice is
made by cross-validation inside the labelled texts; the chosen models are trained on all of them.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from greffe.auto.choice import Choice, choose_members, join
from greffe.auto.cross_validate import FOLDS, Clock, CrossValidation
from greffe.auto.document import FIT_FILE, FitDocument
from greffe.auto.fit_page import write_fit_page
from greffe.auto.ladder import describe_search
from greffe.auto.models import Labelled
from greffe.auto.preparing import PRETRAINING_FRACTION, choose_bases
from greffe.auto.search import Inputs, Search, search_models
from greffe.baselines.ensembling import ensemble_classifier
from greffe.baselines.linear_runs import open_feature_run, write_linear_run
from greffe.config.options import Output, Reading, Tables, Training
from greffe.config.spans import Span
from greffe.config.spec import Spec
from greffe.data.tables import Example, label_order
from greffe.data.text import find_sources
from greffe.doctor.descriptions import describe
from greffe.doctor.examine import examine
from greffe.errors import MismatchError, RecipeError
from greffe.evaluation.calibration import fit_temperature, scale_probabilities
from greffe.output_folder import PARTS, OutputFolder
from greffe.pipelines.auxiliary import open_auxiliary
from greffe.pipelines.labelled import check_classes, data_hash, load_examples, table_paths
from greffe.pipelines.model_card import write_model_card
from greffe.progress import notice
from greffe.report.number_format import Language
from greffe.run import RUN_FILE, RunDirectory
from greffe.storage import read_model, write_json
from greffe.training.compute import set_up_compute

DEFAULT_BUDGET = "20m"
PLAN_FILE = "plan.json"


class _Plan(Spec):
    """What a fit was started with, and the seconds that it has taken so far."""

    data: dict[str, str]
    seed: int
    bases: list[str]
    """Hashes of their weights."""
    unlabelled: list[str]
    spent: float = 0.0


def fit(
    tables: Tables,
    output: Output,
    *,
    unlabelled: Sequence[str | Path] = (),
    base_sources: Sequence[str | Path] = (),
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
        bases = choose_bases(base_sources, examples)
        hashes = {"train": data_hash(examples), **auxiliary.hashes}
        folder.begin()
        parts = folder.path / PARTS
        parts.mkdir(exist_ok=True)
        plan = _open_plan(
            parts / PLAN_FILE,
            _Plan(
                data=hashes,
                seed=seed,
                bases=[base.manifest().weights for base in bases],
                unlabelled=[Path(source).name for source in texts_without_labels],
            ),
        )
        clock = Clock(budget, plan.spent)
        inputs = Inputs(
            Labelled(examples, labels), auxiliary, unlabelled, bases, training, reading, seed
        )
        _announce(inputs, budget)
        search = Search(CrossValidation(inputs.data, parts / "folds", clock, seed))
        try:
            search_models(search, inputs, parts)
            choice = choose_members(
                {name: one.predictions for name, one in search.finished().items()},
                search.cross_validation.targets,
                seed,
            )
            finals = _write_members(search, choice, parts, seed)
        finally:
            _write_plan(parts / PLAN_FILE, plan.model_copy(update={"spent": clock.spent}))
        document = describe_search(search, inputs, choice, findings, finals)
        # The run comes last: with its manifest, the fit is finished.
        write_json(run.path / FIT_FILE, document.model_dump(mode="json"))
        write_fit_page(document, run.path, language)
        _write_run(folder.path, search, choice, document, finals, threads, hashes)
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


def _announce(inputs: Inputs, budget: float) -> None:
    """Say what there is, and what will be done with it."""
    has_text, has_auxiliary = bool(inputs.unlabelled), inputs.has_auxiliary
    has_base = inputs.base is not None or has_text
    minutes = PRETRAINING_FRACTION * budget / 60
    steps = {
        "TF-IDF": True,
        "TF-IDF with auxiliary labels": has_auxiliary,
        "TF-IDF with a latent semantic analysis of your text": has_text,
        f"pretraining on your text ({minutes:.0f} min)": has_text,
        "the base's features beside TF-IDF": has_base,
        "fine-tuning on auxiliary labels": has_auxiliary and has_base,
        "fine-tuning on your labels": has_base,
        "ensembles": True,
    }
    known = ", ".join(base.name for base in inputs.bases) or ("new" if has_text else "none")
    notice(
        f"fit: {len(inputs.data.examples):,} texts, {len(inputs.data.labels)} classes, "
        f"{inputs.auxiliary.texts:,} auxiliary texts, base {known}, {budget / 60:.0f} min\n"
        f"plan: {' → '.join(step for step, is_planned in steps.items() if is_planned)}; "
        f"each by {FOLDS}-fold cross-validation"
    )


# --- after the work -------------------------------------------------------------------------------


def _write_members(
    search: Search, choice: Choice, parts: Path, seed: int
) -> dict[str, RunDirectory]:
    """Train the chosen models on all labelled texts."""
    finals, data = {}, search.cross_validation.data
    for name in choice.members:
        tried, began = search.tried[name], time.monotonic()
        notice(f"{name}: training on all {len(data.examples):,} labelled texts")
        run = tried.model.write(data, parts / "final" / name, seed)
        # What was measured on texts that it had not seen, instead of on those that it was given.
        result = {**run.manifest().result, "accuracy": search.accuracy(tried).mean}
        result.pop("log_loss", None)
        result.pop("macro_f1", None)
        run.write_manifest(run.manifest().model_copy(update={"result": result}))
        tried.seconds += time.monotonic() - began
        finals[name] = run
    return finals


def _write_run(
    folder: Path,
    search: Search,
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
    joined = join([search.tried[name].predictions for name in choice.members])[0]
    is_known = np.isfinite(joined).all(axis=1)
    examples = search.cross_validation.data.examples
    targets = [one.label for one, known in zip(examples, is_known, strict=True) if known]
    calibration = fit_temperature(
        document.labels,
        targets,
        lambda temperature: scale_probabilities(joined[is_known], temperature),
    )
    run.write_manifest(run.manifest().model_copy(update={"calibration": calibration}))
    write_model_card(run)

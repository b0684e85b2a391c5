"""Compare: was the pretraining worth it? Several arms over paired seeds, and what was found.

Interrupted anywhere, it goes on where it was: a cell whose inputs have the same hash is not
computed again. Knows nothing of how the findings are shown.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from greffe.config.options import Reading
from greffe.config.recipe import Recipe
from greffe.doctor.examine import examine
from greffe.doctor.finding import Finding
from greffe.doctor.label_checks import one_class
from greffe.errors import InterruptedRunError, RecipeError
from greffe.evaluation.paired import SIGNIFICANCE, smallest_sign_flip_p
from greffe.output_folder import OutputFolder
from greffe.pipelines.auxiliary import open_auxiliary
from greffe.pipelines.labelled import Examples, data_hash, load_examples
from greffe.pipelines.provenance import FeatureRuns, refuse_trained_on, warn_if_trained_on
from greffe.progress import Progress, notice
from greffe.run import RunDirectory, this_command
from greffe.study.analysis import Analysis
from greffe.study.cells import Choices, Trainer, check_pairing, check_transfer, is_begun
from greffe.study.disagreements import find_disagreements
from greffe.study.document import StudyDocument
from greffe.study.ensemble_cells import ensemble_cells
from greffe.study.facts import data_summary, repeat_facts
from greffe.study.folder import STUDY_FILE, CellFile, CellResult, StudyDirectory, StudyManifest
from greffe.study.model_views import parameter_tables, pictures_of, samples_of_arms
from greffe.study.parts import Parts, check_label_counts, part_data
from greffe.study.plan import MAJORITY, ArmPlan, Cell, plan_arms, plan_cells, planned_comparisons
from greffe.study.transfer_proof import base_hashes, prove_transfer
from greffe.training.checkpoint import load_classification_tokenizer, run_weights
from greffe.training.compute import set_up_compute
from greffe.training.distributed import World

SEEDS = 8
SPLIT_SEED = 0


def compare(
    base: RunDirectory,
    data: Examples,
    out: str | Path,
    *,
    valid: Examples | None = None,
    test: Examples | None = None,
    arms: Mapping[str, RunDirectory] | None = None,
    feature_runs: Sequence[RunDirectory] = (),
    aux_data: Sequence[Examples] = (),
    frozen: bool = False,
    seeds: int | Sequence[int] = SEEDS,
    labels: Sequence[int] = (),
    recipe: str | Path | Recipe | None = None,
    budget: str | None = None,
    changes: Sequence[str] = (),
    corpus: Sequence[str | Path] = (),
    options: Reading | None = None,
    keep_runs: bool = False,
    overwrite: bool = False,
) -> StudyDirectory:
    """Run the whole study into `out`, or what is left of it; its document says what was found."""
    _check_alone()
    reading = options or Reading()
    plan = partial(plan_arms, base, arms or {}, frozen=frozen, feature_runs=feature_runs)
    numbers = _seed_numbers(seeds)
    choices = Choices(recipe, budget, tuple(changes))
    choices.of(plan()[0], numbers[0])  # a bad recipe is an error before the work
    examples = load_examples(data, reading)
    parts = part_data(
        examples,
        None if valid is None else load_examples(valid, reading),
        None if test is None else load_examples(test, reading),
        SPLIT_SEED,
    )
    check_label_counts(labels, parts)
    # A copy of a test text would tell the answer.
    everything = [*parts.train, *parts.valid, *parts.test]
    auxiliary_tables = open_auxiliary(aux_data, parts.labels, reading, known=everything)
    plans = plan(auxiliary=auxiliary_tables.texts)
    set_up_compute(choices.of(plans[0], numbers[0]).train.threads)
    asked = _open_feature_runs(feature_runs, plans, parts, data_hash(examples))
    sources = {"train": data, "valid": valid, "test": test}
    folder = OutputFolder(
        out,
        markers=(STUDY_FILE,),
        overwrite=overwrite,
        resume=not overwrite,
        sources=[
            *(run.path for arm in plans for run in (arm.run, *arm.feature_runs) if run is not None),
            *_paths([*sources.values(), *aux_data]),
            *corpus,
        ],
    )
    with folder:
        study = StudyDirectory(folder.path)
        cells = plan_cells(plans, labels, numbers, parts)
        manifest = StudyManifest(
            status="running",
            cells=[cell.name for cell in cells],
            settings={"seeds": numbers, "labels": list(labels), "command": this_command()},
        )
        study.write_manifest(manifest)
        _announce(plans, numbers, parts, cells)
        findings = examine(
            {"train": parts.train, "valid": parts.valid, "test": parts.test},
            tokenizer=load_classification_tokenizer(base),
            context=base.recipe().model.context,
            corpus=corpus,
            options=reading,
        )
        bases = {arm.run.path: run_weights(arm.run)[1] for arm in plans if arm.run is not None}
        trainer = Trainer(parts, choices, bases, asked, auxiliary_tables)
        trained = _compute(study, trainer, cells, keep_runs=keep_runs)
        results = {**trained, **ensemble_cells(plans, trained)}
        analysis = Analysis(parts, plans, results)
        kept = {arm.name: _best_cell(arm, trained) for arm in plans}
        with Progress("compare: reading the results", 1) as progress, progress.part(1, ""):
            document = StudyDocument(
                name=study.path.resolve().name,
                data=data_summary(parts, sources),
                arms=[analysis.arm(arm, _kept_path(study, kept[arm.name])) for arm in plans],
                comparisons=analysis.comparisons(),
                label_curves=analysis.label_curves(),
                disagreements=find_disagreements(analysis, study, kept),
                parameters=parameter_tables(plans, len(parts.labels)),
                pictures=pictures_of(base),
                samples=samples_of_arms(plans, parts.train),
                proof=prove_transfer(plans, parts, results, seed=SPLIT_SEED),
                findings=[*findings, *_one_class(analysis)],
                repeat=repeat_facts(
                    choices.of(plans[0], numbers[0]),
                    numbers,
                    parts,
                    bases,
                    asked.hashes,
                    auxiliary_tables.hashes,
                ),
            )
        study.write_document(document)
        study.write_manifest(manifest.model_copy(update={"status": "finished"}))
    return study


def _open_feature_runs(
    runs: Sequence[RunDirectory], plans: Sequence[ArmPlan], parts: Parts, given: str
) -> FeatureRuns:
    """Ready to be asked, unless one of them or of the arms' bases knows the test texts.

    `given` is the hash of all of `data`.
    """
    opened = FeatureRuns(runs)
    bases = [arm.run for arm in plans if arm.run is not None and arm.kind != "scratch"]
    test = {data_hash(parts.test), *([given] if parts.is_split["test"] else [])}
    refuse_trained_on([*bases, *runs], test)
    warn_if_trained_on(runs, {data_hash(parts.train), given})
    return opened


# --- cells --------------------------------------------------------------------------------------


def _compute(
    study: StudyDirectory, trainer: Trainer, cells: Sequence[Cell], *, keep_runs: bool
) -> dict[Cell, CellResult]:
    """The result of every cell, computed or found; the runs of losing seeds go as soon as lost."""
    keys = {cell: trainer.key(cell) for cell in cells}
    hashes = base_hashes({cell.arm.run.path: cell.arm.run for cell in cells if cell.arm.run})
    results: dict[Cell, CellResult] = {}
    for cell in cells:
        known = study.cell(cell.name)
        if known is not None and known.key == keys[cell] and known.result is not None:
            results[cell] = known.result
    if results:
        notice(f"compare: {len(results)} of {len(cells)} trainings are already done")
    todo = [cell for cell in cells if cell not in results]
    try:
        with Progress("compare", sum(cell.weight for cell in todo)) as progress:
            for number, cell in enumerate(todo, 1):
                with progress.part(cell.weight, f"{number}/{len(todo)} {_label(cell)}"):
                    results[cell] = _one(study, trainer, cell, keys[cell], hashes)
                if not keep_runs:
                    _drop_losers(study, cell.arm, results)
    except (InterruptedRunError, KeyboardInterrupt):
        raise InterruptedRunError(
            f"Stopped; {len(results)} of {len(cells)} trainings are done and kept in {study.path}.",
            hint="the same command goes on from there",
        ) from None
    check_pairing(results)
    return {cell: results[cell] for cell in cells}


def _one(
    study: StudyDirectory, trainer: Trainer, cell: Cell, key: str, bases: Mapping[Path, str]
) -> CellResult:
    """Compute a cell and keep its result, unless the pretraining was not where it should be."""
    folder = study.run_path(cell.name)
    known = study.cell(cell.name)
    is_same = known is not None and known.key == key
    if not is_same:
        shutil.rmtree(folder, ignore_errors=True)
        study.write_cell(cell.name, CellFile(key=key))
    result = trainer.compute(cell, folder, resume=is_same and is_begun(folder))
    if cell.arm.run is not None and not cell.arm.is_linear:
        check_transfer(cell, result, bases[cell.arm.run.path])
    study.write_cell(cell.name, CellFile(key=key, result=result))
    return result


def _best_cell(arm: ArmPlan, results: Mapping[Cell, CellResult]) -> Cell | None:
    """The full cell that is best on the validation part, the first of equals."""
    full = [cell for cell in results if cell.arm == arm and cell.is_full]
    return max(full, key=lambda cell: results[cell].validation or 0.0, default=None)


def _drop_losers(study: StudyDirectory, arm: ArmPlan, results: Mapping[Cell, CellResult]) -> None:
    best = _best_cell(arm, results)
    for cell in results:
        if cell.arm == arm and cell != best:
            shutil.rmtree(study.run_path(cell.name), ignore_errors=True)


def _kept_path(study: StudyDirectory, cell: Cell | None) -> str | None:
    if cell is None or not is_begun(study.run_path(cell.name)):
        return None
    return str(study.run_path(cell.name).relative_to(study.path))


# --- words and facts ------------------------------------------------------------------------------


def _announce(
    plans: Sequence[ArmPlan], seeds: Sequence[int], parts: Parts, cells: Sequence[Cell]
) -> None:
    repeated = sum(parts.is_repeated)
    notice(
        f"compare: {', '.join(plan.name for plan in plans)}; {len(seeds)} seeds, "
        f"{len(cells)} trainings; {len(parts.train):,} training, {len(parts.valid):,} validation "
        f"and {len(parts.test):,} test texts"
        + (f", {repeated} of which stand in the others too" if repeated else "")
    )
    smallest = smallest_sign_flip_p(len(seeds))
    others = len(planned_comparisons(plans)) - 1
    if smallest >= SIGNIFICANCE:
        notice(f"with {len(seeds)} seeds no test can reach 5 %: six are the fewest that can")
    elif smallest * others >= SIGNIFICANCE:
        notice(
            f"with {len(seeds)} seeds and {others} comparisons beside the main one, none of these "
            "can be shown after correction: more seeds or fewer arms would help"
        )


def _label(cell: Cell) -> str:
    labels = "" if cell.is_full else f", {cell.labels} labels"
    return f"{cell.arm.name}{labels}, seed {cell.seed}"


def _one_class(analysis: Analysis) -> list[Finding]:
    found = (
        one_class(name, analysis.predicted(name), analysis.parts.test)
        for name in analysis.full
        if name != MAJORITY
    )
    return [finding for finding in found if finding is not None]


# --- flags ----------------------------------------------------------------------------------------


def _seed_numbers(seeds: int | Sequence[int]) -> list[int]:
    numbers = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not numbers or len(set(numbers)) != len(numbers) or min(numbers) < 0:
        raise RecipeError(
            "These seeds cannot be used.",
            expected="how many, or different numbers from 0 on",
            found=str(seeds),
        )
    return numbers


def _check_alone() -> None:
    if World.join().size > 1:
        raise RecipeError(
            "A study runs in one process.",
            found="several, under torchrun",
            hint="pretrain under torchrun, then compare without it",
        )


def _paths(sources: Iterable[Examples | None]) -> list[str | Path]:
    return [source for source in sources if isinstance(source, str | Path)]

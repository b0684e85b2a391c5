"""Compare: was the pretraining worth it? Run several arms over paired seeds and write what follows.

An interrupted study resumes: a cell whose inputs have the same hash is not computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from greffe.baselines.linear_classifier import check_features
from greffe.config.options import Training
from greffe.data.overlap import check_corpora
from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.single_prediction import single_prediction
from greffe.doctor.examine import examine
from greffe.doctor.finding import Finding
from greffe.errors import RecipeError
from greffe.evaluation.paired import SIGNIFICANCE, smallest_sign_flip_p
from greffe.output_folder import OutputFolder
from greffe.pipelines.auxiliary import AuxiliaryTables, open_auxiliary
from greffe.pipelines.jobs import SideBySide, choose_jobs
from greffe.pipelines.labelled import data_hash, load_examples
from greffe.pipelines.provenance import FeatureRuns, refuse_trained_on, warn_if_trained_on
from greffe.progress import Progress, notice, quiet
from greffe.run import RunDirectory, this_command
from greffe.study.analysis import Analysis
from greffe.study.arms import Cell, DerivedArm, PlannedArm
from greffe.study.arms.finetuned import FinetunedArm
from greffe.study.cell_compute import decide_compute, with_compute
from greffe.study.cell_inputs import CellInputs, cell_recipe
from greffe.study.cells import best_cell, cell_key, check_pairing, compute_cells, has_run
from greffe.study.disagreements import find_disagreements
from greffe.study.document import StudyDocument
from greffe.study.facts import data_summary, repeat_facts, restarted_cells
from greffe.study.folder import STUDY_FILE, CellResult, StudyDirectory, StudyManifest
from greffe.study.model_views import parameter_rows, pictures_of, samples_of
from greffe.study.parts import Parts, check_label_counts, check_measurable, part_data
from greffe.study.plan import (
    StudyRequest,
    plan_arms,
    plan_cells,
    planned_comparisons,
    presented_bases,
)
from greffe.study.transfer_proof import prove_transfer
from greffe.training.checkpoint import load_classification_tokenizer, load_model
from greffe.training.compute import set_up_compute
from greffe.training.device import Compute
from greffe.training.distributed import World

SPLIT_SEED = 0
PROMPT_TEXTS = 6


@dataclass(frozen=True)
class StudyPlan:
    """A request with everything read and checked."""

    request: StudyRequest
    arms: list[PlannedArm]
    seeds: list[int]
    keys: dict[Cell, str]
    """The trainings, each with the hash of its inputs."""
    inputs: CellInputs
    side_by_side: SideBySide
    compute: Compute

    @property
    def parts(self) -> Parts:
        """The labelled texts."""
        return self.inputs.parts

    @property
    def runs(self) -> dict[Path, RunDirectory]:
        """The runs that provide bases, by their paths."""
        return {arm.run.path: arm.run for arm in self.arms if arm.run is not None}


def compare(request: StudyRequest, out: str | Path, *, overwrite: bool = False) -> StudyDirectory:
    """Run a study into `out`, or resume it, and write its document."""
    _check_one_process()
    folder = OutputFolder(
        out,
        markers=(STUDY_FILE,),
        overwrite=overwrite,
        resume=not overwrite,
        resumes="by default",
        sources=request.sources,
    )
    with folder:
        study = StudyDirectory(folder.path)
        begun = study.manifest() if folder.resuming and study.is_study else None
        plan = make_plan(request, begun)
        folder.begin()
        manifest = _manifest(plan)
        study.write_manifest(manifest)
        _announce(plan)
        findings = _data_findings(plan)
        trained = compute_cells(
            study,
            plan.inputs,
            plan.keys,
            keep_runs=request.keep_runs,
            side_by_side=plan.side_by_side,
        )
        check_pairing(trained, planned_comparisons(plan.arms)[0])
        with Progress("compare: analyzing the results", 1) as progress, progress.part(1, ""):
            document = _document(study, plan, trained, findings)
        study.write_document(document)
        study.write_manifest(manifest.model_copy(update={"status": "finished"}))
    return study


# --- the plan -------------------------------------------------------------------------------------


def make_plan(request: StudyRequest, begun: StudyManifest | None = None) -> StudyPlan:
    """Read all inputs and check everything that can be checked before the first training.

    `begun` is a study that is resumed: it keeps its device and precision.
    """
    seeds, training, base = request.seed_numbers, request.training, request.arms.base
    arms = plan_arms(request.arms)
    # The cheap checks come first: a bad name, recipe or run is an error before tables are read.
    _check_recipes(arms, training, seeds)
    _check_bases(arms)
    check_corpora(request.corpus, request.reading)
    parts, table_hash = _read_parts(request)
    check_measurable(parts)
    check_label_counts(request.labels, parts)
    auxiliary = _open_auxiliary(request, parts)
    texts = [example.text for example in parts.train]
    check_features(texts, tfidf=True, has_others=True, auxiliary=auxiliary.auxiliary)
    arms = plan_arms(replace(request.arms, auxiliary_texts=auxiliary.texts))
    cells = plan_cells(arms, request.labels, seeds, parts)
    recipe = cell_recipe(base, training, seeds[0])
    jobs = choose_jobs(training.jobs, len(cells), recipe, parts.train, len(parts.labels))
    threads = set_up_compute(recipe.train.threads, jobs=jobs)
    compute = decide_compute(recipe, begun)
    set_up_compute(recipe.train.threads)  # of this process, for what is not a cell
    feature_runs = _open_feature_runs(request, arms, parts, table_hash)
    inputs = CellInputs(parts, with_compute(training, compute), feature_runs, auxiliary)
    return StudyPlan(
        request=request,
        arms=arms,
        seeds=seeds,
        keys={cell: cell_key(cell, inputs) for cell in cells},
        inputs=inputs,
        side_by_side=SideBySide(jobs, threads),
        compute=compute,
    )


def _check_recipes(arms: Sequence[PlannedArm], training: Training, seeds: Sequence[int]) -> None:
    """Raise an error if the options do not suit the recipe of an arm."""
    for arm in arms:
        if isinstance(arm, FinetunedArm):
            for seed in seeds:
                cell_recipe(arm.model_run, training, seed, arm.changes)


def _check_bases(arms: Sequence[PlannedArm]) -> None:
    """Raise an error unless every base is finished, and its model and tokenizer can be loaded.

    Seeds are paired only if all of them start from the same weights, also after an interruption.
    """
    with quiet():
        for run in {arm.run.path: arm.run for arm in arms if arm.run is not None}.values():
            run.require_finished()
            load_model(run)
            load_classification_tokenizer(run)


def _read_parts(request: StudyRequest) -> tuple[Parts, str]:
    """Return the three parts, and the hash of the training table before any split."""
    tables, reading = request.tables, request.reading
    examples = load_examples(tables.data, reading)
    valid = None if tables.valid is None else load_examples(tables.valid, reading)
    test = None if tables.test is None else load_examples(tables.test, reading)
    return part_data(examples, valid, test, SPLIT_SEED), data_hash(examples)


def _open_auxiliary(request: StudyRequest, parts: Parts) -> AuxiliaryTables:
    # A copy of a test text would give the answer away.
    known = [*parts.train, *parts.valid, *parts.test]
    return open_auxiliary(request.tables.aux_data, parts.labels, request.reading, known=known)


def _open_feature_runs(
    request: StudyRequest, arms: Sequence[PlannedArm], parts: Parts, table_hash: str
) -> FeatureRuns:
    """Open the feature runs, unless one of them or an arm's base was trained on the test texts.

    `table_hash` is the hash of the training table before any part was split off.
    """
    runs = request.arms.feature_runs
    opened = FeatureRuns(runs)
    bases = [arm.run for arm in arms if arm.run is not None and arm.uses_weights]
    test = {data_hash(parts.test), *([table_hash] if parts.is_split["test"] else [])}
    refuse_trained_on([*bases, *runs], test)
    warn_if_trained_on(runs, {data_hash(parts.train), table_hash})
    return opened


def _manifest(plan: StudyPlan) -> StudyManifest:
    return StudyManifest(
        status="running",
        cells=[cell.name for cell in plan.keys],
        device=plan.compute.device.type,
        precision=plan.compute.precision,
        settings={
            "seeds": plan.seeds,
            "labels": list(plan.request.labels),
            "command": this_command(),
        },
    )


def _announce(plan: StudyPlan) -> None:
    parts, seeds = plan.parts, len(plan.seeds)
    repeated = sum(parts.is_repeated)
    notice(
        f"compare: {', '.join(arm.name for arm in plan.arms)}; {seeds} seeds, "
        f"{len(plan.keys)} trainings; {len(parts.train):,} training, {len(parts.valid):,} "
        f"validation and {len(parts.test):,} test texts"
        + (f", {repeated} of which also occur in the other parts" if repeated else "")
    )
    if plan.side_by_side.jobs > 1:
        notice(f"compare: the trainings, {plan.side_by_side}")
    smallest = smallest_sign_flip_p(seeds)
    others = len(planned_comparisons(plan.arms)) - 1
    if smallest >= SIGNIFICANCE:
        notice(f"with {seeds} seeds no difference can be significant at 5%: it takes at least six")
    elif smallest * others >= SIGNIFICANCE:
        notice(
            f"with {seeds} seeds and {others} comparisons beside the main one, none of these can "
            "be significant after correction: more seeds or fewer arms would help"
        )


# --- the document ---------------------------------------------------------------------------------


def _document(
    study: StudyDirectory,
    plan: StudyPlan,
    trained: Mapping[Cell, CellResult],
    findings: Sequence[Finding],
) -> StudyDocument:
    parts, base, bases = plan.parts, plan.request.arms.base, presented_bases(plan.arms)
    results = dict(trained)
    for arm in plan.arms:
        if isinstance(arm, DerivedArm):
            results |= arm.derive(trained)
    analysis = Analysis(parts, plan.arms, results)
    kept = _kept_runs(study, plan.arms, trained)
    prompts = [example.text for example in parts.train[:PROMPT_TEXTS]]
    return StudyDocument(
        name=study.path.resolve().name,
        data=data_summary(parts, plan.request.tables),
        arms=[analysis.arm(arm, _relative(kept.get(arm.name), study)) for arm in plan.arms],
        comparisons=analysis.comparisons(),
        label_curves=analysis.label_curves(),
        disagreements=find_disagreements(analysis, kept),
        parameters={name: parameter_rows(run, len(parts.labels)) for name, run in bases.items()},
        pictures=pictures_of(base),
        samples=[
            sample for name, run in bases.items() for sample in samples_of(name, run, prompts)
        ],
        proof=prove_transfer(bases, plan.inputs, results, seed=SPLIT_SEED),
        findings=[*findings, *_prediction_findings(analysis)],
        restarts=restarted_cells(trained),
        repeat=repeat_facts(
            cell_recipe(base, plan.inputs.training, plan.seeds[0]),
            plan.seeds,
            plan.inputs,
            plan.runs.values(),
        ),
    )


def _kept_runs(
    study: StudyDirectory, arms: Sequence[PlannedArm], trained: Mapping[Cell, CellResult]
) -> dict[str, RunDirectory]:
    """Return the run of each arm's best seed, where there is one on disk."""
    best = {arm.name: best_cell(arm, trained) for arm in arms}
    paths = {arm: study.run_path(cell.name) for arm, cell in best.items() if cell is not None}
    return {arm: RunDirectory(path) for arm, path in paths.items() if has_run(path)}


def _relative(run: RunDirectory | None, study: StudyDirectory) -> str | None:
    return None if run is None else str(run.path.relative_to(study.path))


def _data_findings(plan: StudyPlan) -> list[Finding]:
    parts, request, base = plan.parts, plan.request, plan.request.arms.base
    return examine(
        parts.by_name,
        tokenizer=load_classification_tokenizer(base),
        context=base.recipe().model.context,
        corpus=request.corpus,
        options=request.reading,
    )


def _prediction_findings(analysis: Analysis) -> list[Finding]:
    arms = [arm.name for arm in analysis.arms if not arm.is_constant]
    predictions = {name: analysis.predicted(name) for name in arms}
    data = LabelledData(parts={"test": analysis.parts.test}, predictions=predictions)
    return list(single_prediction(data))


def _check_one_process() -> None:
    if World.join().size > 1:
        raise RecipeError(
            "A study runs in one process.",
            found="several, under torchrun",
            hint="pretrain under torchrun, then compare without it",
        )

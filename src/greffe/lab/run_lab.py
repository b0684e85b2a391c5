"""The lab: runs the experiments of each question and writes the page.

Every step writes its result into the output folder; the same command resumes from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from greffe.api import Run, Study, compare, prepare, pretrain
from greffe.config.bounds import Trainings, check_number
from greffe.config.options import Computing, Training
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.spec import Spec
from greffe.data.corpus import CORPUS_FILE, PREPARE_FILE, Corpus
from greffe.errors import RecipeError
from greffe.inference.matrices import model_matrices
from greffe.lab.counting import count_parameters
from greffe.lab.inputs import Inputs, LabSize, check_files, file_inputs, sample_inputs
from greffe.lab.lab_document import Attention, ChainTask, LabDocument, MaskTask, OrderTask
from greffe.lab.lab_page import lab_catalog, write_lab_page
from greffe.lab.tasks import TaskSize, one_thread
from greffe.lab.two_heads import examine_heads
from greffe.lab.without_mask import mask_task
from greffe.lab.without_positions import chain_task, order_task
from greffe.output_folder import OutputFolder
from greffe.pipelines.choose_recipe import choose_recipe
from greffe.progress import Progress, notice
from greffe.report.number_format import Language
from greffe.run import RUN_FILE
from greffe.storage import disk_error, read_model, write_json
from greffe.study.arms.pretrained_arm import PretrainedArm
from greffe.study.folder import STUDY_FILE
from greffe.training.compute import set_up_compute
from greffe.training.device import choose_device

LAB_FILE = "lab.json"
DATA, CORPUS, STUDY = "data", "corpus", "study"
OBJECTIVES = ("causal", "masked")
MASKED_ARM = "masked"

_Task = TypeVar("_Task", MaskTask, OrderTask, ChainTask)


class _TaskFile(Spec):
    """The result of a small task, and the sizes that it was run with."""

    size: TaskSize
    found: MaskTask | OrderTask | ChainTask


def lab(
    out: str | Path,
    *,
    lab_data: str | Path | None = None,
    corpus: str | Path | None = None,
    budget: str | None = None,
    seeds: int | None = None,
    language: Language = "en",
    size: LabSize | None = None,
    overwrite: bool = False,
    computing: Computing = Computing(),
) -> LabDocument:
    """Answer the five questions in the folder `out`, on a sample or on the lab's own files."""
    if corpus is not None and lab_data is None:
        raise RecipeError(
            "--corpus requires --lab-data.",
            expected="--corpus TEXT together with --lab-data DIR",
            hint="to study a base of your own text, use greffe compare",
        )
    size = size or LabSize()
    with OutputFolder(
        out,
        markers=(LAB_FILE,),
        overwrite=overwrite,
        resume=not overwrite,
        resumes="by default",
        sources=[path for path in (lab_data, corpus) if path is not None],
    ) as taken:
        folder = taken.path
        lab_catalog(language)
        choose_device(computing.device)
        choose_recipe(Training(recipe="lab", budget=budget), parent=None)
        if seeds is not None:
            check_number("seeds", seeds, Trainings, example="--seeds 8")
        if lab_data is not None:
            check_files(Path(lab_data), corpus)
        _check_folders(folder, overwrite)
        taken.begin()
        inputs = _inputs(folder / DATA, lab_data, corpus, size, budget, overwrite)
        training = Training(device=computing.device, precision=computing.precision)
        return _answer(folder, inputs, training, size, seeds or inputs.seeds, language, overwrite)


def _check_folders(folder: Path, overwrite: bool) -> None:
    """Refuse the folder of a later step now, not after minutes of earlier steps."""
    corpus = (CORPUS_FILE, PREPARE_FILE)
    steps = {CORPUS: corpus, **dict.fromkeys(OBJECTIVES, (RUN_FILE,)), STUDY: (STUDY_FILE,)}
    for name, markers in steps.items():
        OutputFolder(folder / name, markers=markers, overwrite=overwrite, resume=not overwrite)


def _inputs(
    data: Path,
    lab_data: str | Path | None,
    corpus: str | Path | None,
    size: LabSize,
    budget: str | None,
    overwrite: bool,
) -> Inputs:
    """Write the inputs that are generated, and return all of them."""
    try:
        data.mkdir(exist_ok=True)
    except OSError as error:
        raise disk_error(error, data) from error
    if lab_data is None:
        return sample_inputs(data, size, budget, overwrite)
    return file_inputs(data, Path(lab_data), corpus, size, budget, overwrite)


def _answer(
    folder: Path,
    inputs: Inputs,
    training: Training,
    size: LabSize,
    seeds: int,
    language: Language,
    overwrite: bool,
) -> LabDocument:
    """Run the experiments of all questions and write the page."""
    own = load_recipe("lab")
    set_up_compute()

    notice("question 1: what breaks without the mask, and without positions")
    attention = _attention(folder, own, size.tasks, overwrite)
    notice("questions 4 and 5: a causal and a masked base, on the same budget")
    causal, masked, documents = _bases(folder, inputs, training, overwrite)
    notice("questions 4 and 5: the study")
    study = _study(folder, inputs, training, causal, masked, seeds, language, overwrite)
    notice("questions 2 and 3: heads and parameters")
    found = study.results
    classifier = next(arm.kept_run for arm in found.arms if arm.name == PretrainedArm.kind)
    assert classifier is not None
    document = LabDocument(
        data=inputs.data.model_copy(update={"documents": documents}),
        attention=attention,
        heads=examine_heads(own, causal, Run.open(study.path / classifier)),
        counting=count_parameters(own),
        study=found,
        causal_arm=PretrainedArm.kind,
        masked_arm=MASKED_ARM,
    )
    write_json(folder / LAB_FILE, document.model_dump(mode="json"))
    notice(f"page: {write_lab_page(document, folder, language)}")
    return document


# --- experiments ----------------------------------------------------------------------------------


def _attention(folder: Path, own: Recipe, size: TaskSize, overwrite: bool) -> Attention:
    drawn = [*model_matrices(own.model, causal=True), *model_matrices(own.model, causal=False)[:1]]
    mask, positions, bidirectional = drawn
    steps = size.mask_steps * 2 + size.order_steps * 4 + size.chain_steps * 2
    with Progress("small tasks", steps * size.seeds, "steps") as progress, one_thread():

        def result(kind: type[_Task], run: Callable[[TaskSize, Progress], _Task]) -> _Task:
            """Return the result of an earlier run of a task with the same sizes, or run it."""
            path = folder / f"{kind.__name__}.json"
            if path.exists() and not overwrite:
                hint = "remove this file, or start again with --overwrite"
                earlier = read_model(_TaskFile, path, "the result of a lab task", hint=hint)
                if earlier.size == size and isinstance(earlier.found, kind):
                    return earlier.found
            found = run(size, progress)
            write_json(path, _TaskFile(size=size, found=found).model_dump(mode="json"))
            return found

        return Attention(
            pictures=[mask, bidirectional, positions],
            mask=result(MaskTask, mask_task),
            order=result(OrderTask, order_task),
            chain=result(ChainTask, chain_task),
        )


def _bases(
    folder: Path, inputs: Inputs, training: Training, overwrite: bool
) -> tuple[Run, Run, int]:
    """Return the causal base, the masked base, and how many documents they read."""
    resume = not overwrite
    corpus: Corpus = prepare(
        inputs.corpus,
        folder / CORPUS,
        vocab=1_200,
        tokenizer=inputs.tokenizer,
        dictionary=inputs.dictionary,
        overwrite=overwrite,
        resume=resume,
    )
    causal, masked = (
        pretrain(
            corpus.path,
            folder / objective,
            training=replace(
                training,
                recipe=inputs.recipe,
                objective=objective,
                budget=inputs.data.budget,
            ),
            overwrite=overwrite,
            resume=resume,
        )
        for objective in OBJECTIVES
    )
    return causal, masked, corpus.manifest.documents


def _study(
    folder: Path,
    inputs: Inputs,
    training: Training,
    causal: Run,
    masked: Run,
    seeds: int,
    language: Language,
    overwrite: bool,
) -> Study:
    return compare(
        causal,
        data=inputs.train,
        valid=inputs.valid,
        test=inputs.test,
        out=folder / STUDY,
        arms={MASKED_ARM: masked},
        seeds=seeds,
        training=replace(training, budget=inputs.epochs, changes=inputs.changes),
        language=language,
        overwrite=overwrite,
    )

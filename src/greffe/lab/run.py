"""The whole lab: runs what each question needs, or what is left of it, and writes the page.

Every step leaves its result in the output folder; the same command goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from greffe.api import Run, prepare, pretrain
from greffe.config import Recipe, Spec
from greffe.data.corpus import Corpus
from greffe.data.tables import read_examples
from greffe.data.text import ReadOptions
from greffe.errors import DataError
from greffe.inspection.pictures import pictures
from greffe.lab.counting import count_parameters
from greffe.lab.document import (
    Attention,
    ChainTask,
    LabData,
    LabDocument,
    MaskTask,
    OrderTask,
)
from greffe.lab.heads import examine_heads
from greffe.lab.page import write_lab_page
from greffe.lab.tasks import TaskSize, one_thread
from greffe.lab.without_mask import mask_task
from greffe.lab.without_positions import chain_task, order_task
from greffe.progress import Progress, notice
from greffe.recipe_files import load_recipe
from greffe.report.numbers import Language
from greffe.samples.toy import toy_documents, toy_reviews
from greffe.storage import disk_error, read_json, write_atomic, write_json
from greffe.studies import Study, compare
from greffe.study.document import Matrix
from greffe.study.plan import PRETRAINED
from greffe.training.compute import set_up_compute

LAB_FILE = "lab.json"
DATA, STUDY = "data", "study"
MASKED_ARM = "masked"
SENTENCEPIECE, DICTIONARY = "sentencepiece.french.model", "dict.txt"
TRAIN, TEST = "cls-books/train.review.spm", "cls-books/valid.review.spm"

_Task = TypeVar("_Task", MaskTask, OrderTask, ChainTask)


class LabSize(Spec):
    """How much is run; the defaults take about four minutes on two cores."""

    tasks: TaskSize = TaskSize()
    documents: int = 8_000
    """Unlabelled sample reviews."""
    labels: int = 60
    valid: int = 100
    test: int = 400
    seeds: int = 8
    sample_budget: str = "800steps"
    files_budget: str = "5m"
    """Budgets of either base's pretraining, on the sample and on the lab's files."""
    epochs: int = 12
    """Fine-tuning on the sample; on the lab's files its recipe says."""


class Inputs(Spec):
    """What the study reads, and how its bases are pretrained and fine-tuned."""

    recipe: Recipe
    corpus: Path
    train: Path
    valid: Path | None
    test: Path
    tokenizer: Path | None
    dictionary: Path | None
    changes: list[str]
    epochs: str | None
    data: LabData


def lab(
    out: str | Path,
    *,
    lab_data: str | Path | None = None,
    corpus: str | Path | None = None,
    budget: str | None = None,
    language: Language = "en",
    size: LabSize | None = None,
    overwrite: bool = False,
) -> LabDocument:
    """Answer the five questions into the folder `out`: on a sample, or on the lab's own files."""
    folder, size = Path(out), size or LabSize()
    _make(folder / DATA)
    inputs = (
        _sample_inputs(folder / DATA, size, budget, overwrite)
        if lab_data is None
        else _file_inputs(folder / DATA, Path(lab_data), corpus, size, budget, overwrite)
    )
    own = load_recipe("lab")
    set_up_compute()

    notice("question 1: what breaks without the mask, and without positions")
    attention = _attention(folder, own, size.tasks, overwrite)
    notice("questions 4 and 5: two bases, left to right and masked, on the same budget")
    causal, masked, documents = _bases(folder, inputs, overwrite)
    notice("questions 4 and 5: the study")
    study = _study(folder, inputs, causal, masked, size.seeds, language, overwrite)
    notice("questions 2 and 3: heads and parameters")
    found = study.found
    classifier = next(arm.kept_run for arm in found.arms if arm.name == PRETRAINED)
    assert classifier is not None
    document = LabDocument(
        data=inputs.data.model_copy(update={"documents": documents}),
        attention=attention,
        heads=examine_heads(own, causal, Run.open(study.path / classifier)),
        counting=count_parameters(own),
        study=found,
        causal_arm=PRETRAINED,
        masked_arm=MASKED_ARM,
    )
    write_json(folder / LAB_FILE, document.model_dump(mode="json"))
    notice(f"the page: {write_lab_page(document, folder, language)}")
    return document


# --- what is read -------------------------------------------------------------------------------


def _sample_inputs(folder: Path, size: LabSize, budget: str | None, overwrite: bool) -> Inputs:
    """Made-up reviews, unlabelled and labelled."""
    tables = {"train": (size.labels, 1), "valid": (size.valid, 2), "test": (size.test, 3)}
    _write_lines(folder / "corpus.txt", lambda: toy_documents(size.documents, seed=0), overwrite)
    for name, (count, seed) in tables.items():
        _write_lines(folder / f"{name}.tsv", _reviews(count, seed), overwrite)
    changes = ["model.width=96", "model.feed_forward=192", "train.batch=32"]
    return Inputs(
        recipe=load_recipe("tiny").with_changes(changes),
        corpus=folder / "corpus.txt",
        train=folder / "train.tsv",
        valid=folder / "valid.tsv",
        test=folder / "test.tsv",
        tokenizer=None,
        dictionary=None,
        changes=[],
        epochs=f"{size.epochs}epochs",
        data=LabData(
            is_sample=True,
            corpus="corpus.txt",
            corpus_is_reviews=False,
            documents=0,
            budget=budget or size.sample_budget,
            recipe="lab",
        ),
    )


def _reviews(count: int, seed: int) -> Callable[[], Iterable[str]]:
    return lambda: (f"{label}\t{text}" for label, text in toy_reviews(count, seed=seed))


def _file_inputs(
    folder: Path,
    lab_data: Path,
    corpus: str | Path | None,
    size: LabSize,
    budget: str | None,
    overwrite: bool,
) -> Inputs:
    """The lab's reviews and vocabulary; without a corpus the training reviews' own text."""
    missing = [
        name for name in (SENTENCEPIECE, DICTIONARY, TRAIN, TEST) if not (lab_data / name).is_file()
    ]
    if missing:
        raise DataError(
            f"{lab_data} does not hold the lab's files.",
            expected=f"{SENTENCEPIECE}, {DICTIONARY}, {TRAIN}, {TEST} and their .label files",
            found=f"no {', no '.join(missing)}",
            hint="without --lab-data the lab runs on a sample",
        )
    text = Path(corpus) if corpus is not None else folder / "reviews.txt"
    if corpus is None:
        notice("no --corpus given: the bases read the training reviews' own text, which is little")
        reviews = (example.text for example in read_examples(lab_data / TRAIN, ReadOptions()))
        _write_lines(text, lambda: (" ".join(review.split()) for review in reviews), overwrite)
    return Inputs(
        recipe=load_recipe("lab"),
        corpus=text,
        train=lab_data / TRAIN,
        valid=None,
        test=lab_data / TEST,
        tokenizer=lab_data / SENTENCEPIECE,
        dictionary=lab_data / DICTIONARY,
        # The lab reads a review's last token, where a base that reads both ways knows no more
        # than elsewhere: each base is read where it knows most.
        changes=["classification.pooler=auto"],
        epochs=None,
        data=LabData(
            is_sample=False,
            corpus=text.name,
            corpus_is_reviews=corpus is None,
            documents=0,
            budget=budget or size.files_budget,
            recipe="lab",
        ),
    )


# --- what is run --------------------------------------------------------------------------------


def _attention(folder: Path, own: Recipe, size: TaskSize, overwrite: bool) -> Attention:
    drawn = [*pictures(own.model, causal=True), *pictures(own.model, causal=False)[:1]]
    mask, positions, bidirectional = drawn
    steps = size.mask_steps * 2 + size.order_steps * 4 + size.chain_steps * 2
    with Progress("small tasks", steps * size.seeds, "steps") as progress, one_thread():

        def done(kind: type[_Task], run: Callable[[TaskSize, Progress], _Task]) -> _Task:
            return _kept(folder / f"{kind.__name__}.json", kind, run, size, progress, overwrite)

        return Attention(
            pictures=[Matrix(**asdict(one)) for one in (mask, bidirectional, positions)],
            mask=done(MaskTask, mask_task),
            order=done(OrderTask, order_task),
            chain=done(ChainTask, chain_task),
        )


def _kept(
    path: Path,
    kind: type[_Task],
    run: Callable[[TaskSize, Progress], _Task],
    size: TaskSize,
    progress: Progress,
    overwrite: bool,
) -> _Task:
    """What a task found before with the same sizes, or finds now."""
    asked = size.model_dump(mode="json")
    if path.exists() and not overwrite:
        known = read_json(path, "what a task of the lab found")
        if known.get("size") == asked:
            return kind.model_validate(known["found"])
    found = run(size, progress)
    write_json(path, {"size": asked, "found": found.model_dump(mode="json")})
    return found


def _bases(folder: Path, inputs: Inputs, overwrite: bool) -> tuple[Run, Run, int]:
    """The causal and the masked base, and how many documents they read."""
    resume = not overwrite
    corpus: Corpus = prepare(
        inputs.corpus,
        folder / "corpus",
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
            recipe=inputs.recipe,
            objective=objective,
            budget=inputs.data.budget,
            overwrite=overwrite,
            resume=resume,
        )
        for objective in ("causal", "masked")
    )
    return causal, masked, corpus.manifest.documents


def _study(
    folder: Path,
    inputs: Inputs,
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
        budget=inputs.epochs,
        changes=inputs.changes,
        language=language,
        overwrite=overwrite,
    )


# --- files --------------------------------------------------------------------------------------


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, folder) from error


def _write_lines(path: Path, lines: Callable[[], Iterable[str]], overwrite: bool) -> None:
    """What is already there stays: a corpus knows the file it was made from."""
    if overwrite or not path.exists():
        write_atomic(path, "".join(f"{line}\n" for line in lines()).encode())

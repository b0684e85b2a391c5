"""The lab's inputs: a sample that greffe generates, or the lab's own files.

Knows where files are and how many texts to generate, nothing of the experiments.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from greffe.config.options import Reading
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.spec import Spec
from greffe.data.native_tokenizer import import_sentencepiece
from greffe.data.tables import read_examples
from greffe.data.text import check_readable, find_sources
from greffe.errors import DataError
from greffe.lab.lab_document import LabData
from greffe.lab.tasks import TaskSize
from greffe.pipelines.labelled import load_examples
from greffe.progress import notice
from greffe.samples.toy import toy_documents, toy_reviews
from greffe.storage import write_atomic
from greffe.study.parts import check_measurable, part_data
from greffe.study.runner import SPLIT_SEED

SENTENCEPIECE, DICTIONARY = "sentencepiece.french.model", "dict.txt"
TRAIN, TEST = "cls-books/train.review.spm", "cls-books/valid.review.spm"


class LabSize(Spec):
    """How much to run; the defaults take about four minutes on two cores."""

    tasks: TaskSize = TaskSize()
    documents: int = 8_000
    """Unlabelled sample reviews."""
    labels: int = 60
    valid: int = 100
    test: int = 400
    sample_seeds: int = 8
    files_seeds: int = 6
    """Trainings per arm; with fewer than six, no test can reach 5%."""
    sample_budget: str = "800steps"
    files_budget: str = "5m"
    """Pretraining budget of each base, on the sample and on the lab's files."""
    epochs: int = 12
    """Fine-tuning epochs on the sample; the lab's files use the recipe's."""


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
    seeds: int
    data: LabData


def sample_inputs(folder: Path, size: LabSize, budget: str | None, overwrite: bool) -> Inputs:
    """Write generated reviews, unlabelled and labelled, and return the inputs."""
    tables = {"train": (size.labels, 1), "valid": (size.valid, 2), "test": (size.test, 3)}
    _write_lines(folder / "corpus.txt", toy_documents(size.documents, seed=0), overwrite)
    for name, (count, seed) in tables.items():
        lines = (f"{label}\t{text}" for label, text in toy_reviews(count, seed=seed))
        _write_lines(folder / f"{name}.tsv", lines, overwrite)
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
        seeds=size.sample_seeds,
        data=LabData(
            is_sample=True,
            corpus="corpus.txt",
            corpus_is_reviews=False,
            documents=0,
            budget=budget or size.sample_budget,
            recipe="lab",
        ),
    )


def file_inputs(
    folder: Path,
    lab_data: Path,
    corpus: str | Path | None,
    size: LabSize,
    budget: str | None,
    overwrite: bool,
) -> Inputs:
    """Return the lab's reviews and vocabulary; without a corpus, the bases read the reviews."""
    text = Path(corpus) if corpus is not None else folder / "reviews.txt"
    if corpus is None:
        notice("no --corpus given: the bases read only the training reviews, which is little text")
        reviews = (example.text for example in read_examples(lab_data / TRAIN, Reading()))
        _write_lines(text, (" ".join(review.split()) for review in reviews), overwrite)
    return Inputs(
        recipe=load_recipe("lab"),
        corpus=text,
        train=lab_data / TRAIN,
        valid=None,
        test=lab_data / TEST,
        tokenizer=lab_data / SENTENCEPIECE,
        dictionary=lab_data / DICTIONARY,
        # The lab pools the last token, which suits a causal base only: let each base have the
        # pooler that suits it.
        changes=["classification.pooler=auto"],
        epochs=None,
        seeds=size.files_seeds,
        data=LabData(
            is_sample=False,
            corpus=text.name,
            corpus_is_reviews=corpus is None,
            documents=0,
            budget=budget or size.files_budget,
            recipe="lab",
        ),
    )


def check_files(lab_data: Path, corpus: str | Path | None) -> None:
    """Raise an error unless every file of the lab can be used; write nothing."""
    missing = [
        name for name in (SENTENCEPIECE, DICTIONARY, TRAIN, TEST) if not (lab_data / name).is_file()
    ]
    if missing:
        raise DataError(
            f"{lab_data} does not contain the lab's files.",
            expected=f"{SENTENCEPIECE}, {DICTIONARY}, {TRAIN}, {TEST} and their .label files",
            found=f"no {', no '.join(missing)}",
            hint="without --lab-data, the lab runs on a generated sample",
        )
    import_sentencepiece(lab_data / SENTENCEPIECE, lab_data / DICTIONARY)
    train, test = (load_examples(lab_data / name, Reading()) for name in (TRAIN, TEST))
    check_measurable(part_data(train, None, test, SPLIT_SEED))
    if corpus is not None:
        check_readable(find_sources([corpus]), Reading())


def _write_lines(path: Path, lines: Iterable[str], overwrite: bool) -> None:
    """Write a file unless it exists: a corpus records the file it was made from."""
    if overwrite or not path.exists():
        write_atomic(path, "".join(f"{line}\n" for line in lines).encode())

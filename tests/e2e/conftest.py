"""Made once per session: text, tables, a corpus, a base and a classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import greffe
from greffe.api import Run, Study
from greffe.progress import quiet
from greffe.samples.toy import toy_documents, toy_reviews
from greffe.study import cells
from greffe.study.arms import Cell

ONE_THREAD = ["train.threads=1"]


@dataclass(frozen=True)
class World:
    """Paths of the files and runs of the session."""

    folder: Path
    text: Path
    train: Path
    valid: Path
    corpus: Path
    base: Path
    classifier: Path


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world")
    made = World(
        folder=folder,
        text=folder / "text.txt",
        train=folder / "train.tsv",
        valid=folder / "valid.tsv",
        corpus=folder / "corpus",
        base=folder / "base",
        classifier=folder / "classifier",
    )
    made.text.write_text("\n".join(toy_documents(200, seed=0)) + "\n", "utf-8")
    for path, count, seed in ((made.train, 24, 1), (made.valid, 12, 2)):
        lines = (f"{label}\t{text}\n" for label, text in toy_reviews(count, seed=seed))
        path.write_text("".join(lines), "utf-8")
    with quiet():
        greffe.prepare(made.text, made.corpus, vocab=600, valid=0.1, workers=1)
        base = greffe.pretrain(
            made.corpus,
            made.base,
            recipe="tiny",
            objective="hybrid",
            budget="12steps",
            changes=ONE_THREAD,
        )
        greffe.finetune(
            base,
            data=made.train,
            valid=made.valid,
            out=made.classifier,
            budget="2epochs",
            changes=ONE_THREAD,
        )
    return made


@pytest.fixture
def base(world: World) -> Run:
    return greffe.load(world.base)


@pytest.fixture
def classifier(world: World) -> Run:
    return greffe.load(world.classifier)


@pytest.fixture(scope="session")
def cells_computed_by() -> Callable[[Callable[[], Study]], tuple[Study, list[str]]]:
    """Return the study that a call makes, and the names of the cells it computed."""

    def watched(make: Callable[[], Study]) -> tuple[Study, list[str]]:
        names: list[str] = []
        compute = cells.compute_cell

        def counted(cell: Cell, *args: Any, **more: Any) -> Any:
            names.append(cell.name)
            return compute(cell, *args, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cells, "compute_cell", counted)
            return make(), names

    return watched

"""A study with auxiliary data: one more arm, what it reuses and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import greffe
from greffe.api import Study
from greffe.data.tables import Example
from greffe.errors import DataError
from greffe.progress import quiet
from greffe.report.catalog import load_catalog
from greffe.samples.toy import toy_reviews

SMALL = {"seeds": 1, "labels": [12], "budget": "1epochs", "changes": ["train.threads=1"]}
TEST = [Example(text, label) for label, text in toy_reviews(40, seed=3)]
OTHERS = [Example(text, label) for label, text in toy_reviews(300, seed=7)]


def compared(world: Any, out: Path, **more: Any) -> Study:
    with quiet():
        return greffe.compare(
            world.base,
            data=world.train,
            valid=world.valid,
            test=TEST,
            out=out,
            **{**SMALL, **more},
        )


@pytest.fixture(scope="module")
def grown(
    world: Any, cells_computed_by: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Study, list[str]]:
    """A study first without, then with auxiliary data, and what the second part computed."""
    out = tmp_path_factory.mktemp("tfidf+aux") / "study"
    compared(world, out)
    tables = [OTHERS[:150], OTHERS[150:]]
    found: tuple[Study, list[str]] = cells_computed_by(
        lambda: compared(world, out, aux_data=tables)
    )
    return found


@pytest.fixture(scope="module")
def study(grown: tuple[Study, list[str]]) -> Study:
    return grown[0]


def test_only_the_cells_with_auxiliary_data_are_new(grown: tuple[Study, list[str]]) -> None:
    assert grown[1] == ["tfidf+aux-all-1", "tfidf+aux-12-1"]


def test_the_arm_is_in_the_document_and_ahead_of_tfidf_alone(study: Study) -> None:
    found = study.results
    arms = {arm.name: arm for arm in found.arms}
    assert list(arms)[-1] == "tfidf+aux" and arms["tfidf+aux"].kind == "tfidf+aux"
    assert arms["tfidf+aux"].accuracy.mean > arms["tfidf"].accuracy.mean
    pairs = [(one.first, one.second) for one in found.comparisons]
    assert pairs[-2:] == [("tfidf+aux", "tfidf"), ("tfidf+aux", "pretrained")]
    assert found.label_curves is not None
    assert {point.arm for point in found.label_curves.points} == set(arms)
    assert {"auxiliary 1", "auxiliary 2"} <= set(found.repeat.hashes)


def test_the_kept_run_predicts_and_records_its_data(study: Study) -> None:
    [kept] = [arm.kept_run for arm in study.results.arms if arm.name == "tfidf+aux"]
    run = greffe.load(study.path / str(kept))
    assert run.linear.settings.auxiliary == 300
    assert {"train", "auxiliary 1", "auxiliary 2"} == set(run.manifest().lineage.data)
    cell = study.cell("tfidf+aux-all-1")
    assert cell is not None and cell.result is not None
    predicted = [list(one.probabilities.values()) for one in run.predict(one.text for one in TEST)]
    assert predicted == [pytest.approx(row, abs=1e-5) for row in cell.result.probabilities]


def test_test_texts_in_the_auxiliary_data_are_left_out(world: Any, tmp_path: Path) -> None:
    copies = [Example(f" {one.text.upper()} ", one.label) for one in TEST]
    study = compared(world, tmp_path / "study", labels=[], aux_data=[[*OTHERS[:150], *copies]])
    [kept] = [arm.kept_run for arm in study.results.arms if arm.name == "tfidf+aux"]
    assert greffe.load(study.path / str(kept)).linear.settings.auxiliary == 150
    with pytest.raises(DataError, match="only texts that are in your data"):
        compared(world, tmp_path / "other", aux_data=[copies])
    assert not (tmp_path / "other").exists()


def test_the_command_has_it_in_tables_and_page(
    world: Any, command: Callable[..., Any], tmp_path: Path
) -> None:
    table, tested = tmp_path / "others.tsv", tmp_path / "test.tsv"
    for path, examples in ((table, OTHERS), (tested, TEST)):
        lines = (f"{one.label}\t{one.text}\n" for one in examples)
        path.write_text("".join(lines), "utf-8")
    out = tmp_path / "study"
    done = command(
        *("compare", world.base, "--data", world.train, "--valid", world.valid),
        *("--test", tested, "--out", out, "--seeds", "1", "--budget", "1epochs"),
        *("--set", "train.threads=1", "--aux-data", table, "--language", "fr"),
    )
    assert done.code == 0, done.err
    assert "tfidf+aux - tfidf" in done.out
    title = load_catalog("fr")("arm_titles.tfidf+aux")
    assert title in (out / "report.html").read_text("utf-8")

"""A study with feature runs: the arm stacked+runs, reused cells, and runs that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import greffe
from greffe.api import Study
from greffe.data.tables import Example
from greffe.errors import MismatchError
from greffe.progress import quiet
from greffe.report.catalog import load_catalog
from greffe.samples.toy import toy_reviews

SMALL = {"seeds": 1, "labels": [12], "budget": "1epochs", "changes": ["train.threads=1"]}


def reviews(count: int, seed: int) -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(count, seed=seed)]


@pytest.fixture(scope="module")
def test_part(world: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parts") / "test.tsv"
    lines = (f"{one.label}\t{one.text}\n" for one in reviews(30, 3))
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.fixture(scope="module")
def feature_run(world: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run trained on other reviews."""
    with quiet():
        return greffe.linear(reviews(300, 7), tmp_path_factory.mktemp("feature_run") / "run").path


def compared(world: Any, test_part: Path, out: Path, **more: Any) -> Study:
    with quiet():
        return greffe.compare(
            world.base,
            data=world.train,
            valid=world.valid,
            test=test_part,
            out=out,
            **{**SMALL, **more},
        )


@pytest.fixture(scope="module")
def resumed(
    world: Any,
    test_part: Path,
    feature_run: Path,
    cells_computed_by: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Study, list[str]]:
    """A study without feature runs, then resumed with two; and the cells that this computed."""
    out = tmp_path_factory.mktemp("stacked+runs") / "study"
    compared(world, test_part, out)
    feature_runs = [feature_run, world.classifier]
    found: tuple[Study, list[str]] = cells_computed_by(
        lambda: compared(world, test_part, out, feature_runs=feature_runs)
    )
    return found


@pytest.fixture(scope="module")
def study(resumed: tuple[Study, list[str]]) -> Study:
    return resumed[0]


def test_only_stacked_runs_cells_are_new(resumed: tuple[Study, list[str]]) -> None:
    assert resumed[1] == ["stacked+runs-all-1", "stacked+runs-12-1"]


def test_the_arm_is_in_the_document(study: Study, feature_run: Path, world: Any) -> None:
    found = study.results
    arms = {arm.name: arm for arm in found.arms}
    assert list(arms)[-1] == "stacked+runs" and arms["stacked+runs"].kind == "stacked+runs"
    assert arms["stacked+runs"].feature_runs == [str(feature_run), str(world.classifier)]
    assert arms["stacked"].feature_runs == []
    assert arms["stacked+runs"].cost.parameters == arms["stacked"].cost.parameters + 2 * (2 + 2)
    assert arms["stacked+runs"].accuracy.mean > arms["tfidf"].accuracy.mean
    pairs = [(one.first, one.second) for one in found.comparisons]
    assert pairs[-2:] == [("stacked+runs", "tfidf"), ("stacked+runs", "stacked")]
    assert found.label_curves is not None
    assert {point.arm for point in found.label_curves.points} == set(arms)
    assert all(one.predictions[-1].arm == "stacked+runs" for one in found.disagreements)
    assert f"feature run {feature_run}" in found.repeat.hashes


def test_the_kept_run_contains_its_feature_runs(study: Study, command: Callable[..., Any]) -> None:
    [kept] = [arm.kept_run for arm in study.results.arms if arm.name == "stacked+runs"]
    run = greffe.load(study.path / str(kept))
    assert len(run.manifest().feature_runs) == 2
    assert run.manifest().result["feature_runs"].endswith("classifier")
    assert run.linear.settings.run_columns == [2, 2]
    done = command("predict", run.path, "Un roman magnifique.", "--format", "jsonl")
    assert done.code == 0, done.err
    assert json.loads(done.out)["label"] in study.results.data.labels
    texts = [example.text for example in reviews(30, 3)]
    cell = study.cell("stacked+runs-all-1")
    assert cell is not None and cell.result is not None
    predicted = [list(one.probabilities.values()) for one in run.predict(texts)]
    assert predicted == [pytest.approx(row, abs=1e-5) for row in cell.result.probabilities]


def test_the_command_has_it_in_tables_and_page(
    world: Any, test_part: Path, feature_run: Path, command: Callable[..., Any], tmp_path: Path
) -> None:
    out = tmp_path / "study"
    done = command(
        *("compare", world.base, "--data", world.train, "--valid", world.valid),
        *("--test", test_part, "--out", out, "--seeds", "1", "--budget", "1epochs"),
        *("--set", "train.threads=1", "--features-from", feature_run, "--language", "fr"),
        *("--features-from", world.classifier),
    )
    assert done.code == 0, done.err
    assert "stacked+runs - tfidf" in done.out and "stacked+runs - stacked" in done.out
    assert f"{world.classifier} was trained on these training texts" in done.err
    assert f"{feature_run} was trained on" not in done.err
    name = load_catalog("fr")("arms.stacked+runs")
    assert name in (out / "report.html").read_text("utf-8")


def test_feature_runs_that_a_study_refuses(
    world: Any, test_part: Path, command: Callable[..., Any], tmp_path: Path
) -> None:
    with quiet():
        inner = greffe.linear(test_part, tmp_path / "inner").path
        outer = greffe.linear(world.valid, tmp_path / "outer", feature_runs=[inner]).path
    for given, message in (
        (inner, "was trained on the test texts"),
        (outer, "in one of its feature runs"),
        (world.base, "predicts no labels"),
        ("missing", "missing"),
    ):
        done = command(
            *("compare", world.base, "--data", world.train, "--test", test_part),
            *("--features-from", given, "--out", tmp_path / "study"),
        )
        assert done.code == 3 and message in done.err
        assert "Traceback" not in done.err
        assert not (tmp_path / "study").exists()


def test_a_run_trained_on_all_the_data_is_refused(world: Any, tmp_path: Path) -> None:
    with quiet():
        inner = greffe.linear(world.train, tmp_path / "inner")
        with pytest.raises(MismatchError, match="was trained on the test texts"):
            greffe.compare(
                world.base, data=world.train, out=tmp_path / "study", feature_runs=[inner], seeds=1
            )

"""The whole study from the command line: its figures, its report, and resuming after a stop."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

import greffe
from greffe.config.options import Reading, Training
from greffe.data.tables import read_examples
from greffe.errors import MismatchError
from greffe.progress import quiet
from greffe.samples.toy import toy_reviews
from greffe.study import cells
from greffe.study.arms import Cell
from greffe.study.arms.scratch_arm import ScratchArm
from greffe.study.cell_inputs import CellInputs
from greffe.study.parts import part_data

ONE_THREAD = ["train.threads=1"]
SMALL = ("--seeds", "2", "--budget", "1epochs", "--set", "train.threads=1")


@pytest.fixture(scope="module")
def test_part(world):
    path = world.folder / "test.tsv"
    lines = (f"{label}\t{text}\n" for label, text in toy_reviews(30, seed=3))
    path.write_text("".join(lines), "utf-8")
    return path


@pytest.fixture(scope="module")
def study(world, test_part):
    with quiet():
        return greffe.compare(
            world.base,
            data=world.train,
            valid=world.valid,
            test=test_part,
            out=world.folder / "study",
            seeds=2,
            labels=[12],
            frozen=True,
            arms={"again": world.base},
            budget="1epochs",
            changes=ONE_THREAD,
        )


def found_by(document):
    """What a study found, without what it cost and when."""
    kept = {key: value for key, value in document.items() if key != "repeat"}
    kept["name"] = None
    kept["arms"] = [
        {key: value for key, value in arm.items() if key != "cost"} for arm in document["arms"]
    ]
    return kept


def test_every_arm_has_its_figures(study):
    arms = {arm.name: arm for arm in study.results.arms}
    assert list(arms) == [
        *("pretrained", "scratch", "again", "frozen", "again-frozen"),
        *("majority", "tfidf", "stacked", "ensemble"),
    ]
    for arm in arms.values():
        assert 0 <= arm.accuracy.low <= arm.accuracy.mean <= arm.accuracy.high <= 1
    assert arms["pretrained"].seeds == [1, 2]
    assert arms["pretrained"].epochs[-1].epoch == 1
    assert arms["majority"].accuracy.mean == pytest.approx(0.5, abs=0.1)


def test_the_ensemble_needs_no_training(study):
    found = study.results
    ensembled, pretrained, plain = (
        next(arm for arm in found.arms if arm.name == name)
        for name in ("ensemble", "pretrained", "tfidf")
    )
    assert ensembled.kind == "ensemble" and ensembled.seeds == [1, 2]
    assert ensembled.epochs == [] and ensembled.kept_run is None and ensembled.initial_base is None
    assert ensembled.cost.seconds == pytest.approx(pretrained.cost.seconds + plain.cost.seconds)
    assert ensembled.cost.pretraining_tokens == pretrained.cost.pretraining_tokens
    assert ("ensemble", "tfidf") in [(one.first, one.second) for one in found.comparisons]
    points = found.label_curves.points
    assert sum(point.arm == "ensemble" for point in points) == 2
    for one in found.disagreements:
        assert [found.words for found in one.predictions if found.arm == "ensemble"] == [[]]
    assert not any(name.startswith("ensemble") for name in study.manifest().cells)
    assert not list((study.path / "cells").glob("ensemble*"))


def test_the_same_base_under_another_name_gives_the_same(study):
    arms = {arm.name: arm for arm in study.results.arms}
    assert arms["again"].accuracy == arms["pretrained"].accuracy
    [same] = [one for one in study.results.comparisons if one.first == "again"]
    assert same.difference.mean == 0
    assert not same.is_significant


def test_the_transfer_is_proved(study):
    proof = study.results.proof
    assert set(proof.initial_hashes["pretrained"]) == {proof.base_hash}
    assert proof.base_hash not in proof.initial_hashes["scratch"]
    assert all(move.moved["frozen"] == 0 for move in proof.moves)
    assert any(move.moved["pretrained"] > 0 for move in proof.moves)
    assert any(name.startswith("heads.") for name in proof.new)
    assert [probe.name for probe in proof.probes][:2] == ["pretrained", "random"]


def test_only_the_best_run_of_an_arm_is_kept(study):
    kept = {arm.name: arm.kept_run for arm in study.results.arms}
    on_disk = {f"runs/{path.name}" for path in (study.path / "runs").iterdir()}
    assert on_disk == {path for path in kept.values() if path is not None}
    assert kept["stacked"] is not None
    for name in ("pretrained", "stacked"):
        run = greffe.load(study.path / str(kept[name]))
        [prediction] = run.predict(["Un roman magnifique."])
        assert prediction.label in study.results.data.labels


def test_the_report_and_its_tables(study):
    page = study.report.read_text("utf-8")
    assert study.verdict_in("en").headline in page
    assert len(page) < 3_000_000
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page
    assert (study.path / "report.md").exists()
    assert (study.path / "tables" / "arms.csv").exists()


def test_the_same_call_computes_nothing_again(study, world, test_part, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("computed again")

    before = found_by(json.loads((study.path / "report.json").read_text("utf-8")))
    monkeypatch.setattr(cells, "compute_cell", refuse)
    with quiet():
        again = greffe.compare(
            world.base,
            data=world.train,
            valid=world.valid,
            test=test_part,
            out=study.path,
            seeds=2,
            labels=[12],
            frozen=True,
            arms={"again": world.base},
            budget="1epochs",
            changes=ONE_THREAD,
        )
    after = found_by(json.loads((again.path / "report.json").read_text("utf-8")))
    assert after == before


def test_a_report_that_is_built_again_leaves_the_document_alone(study, tmp_path):
    document = study.path / "report.json"
    before = document.stat()
    greffe.report(study.path)
    assert document.stat().st_mtime_ns == before.st_mtime_ns
    greffe.report(study.path, tmp_path)
    assert (tmp_path / "report.json").read_text("utf-8") == document.read_text("utf-8")


def compared(world, test_part, tmp_path, *, seeds, budget):
    """The study that a few tests here run, with some of its choices."""
    with quiet():
        greffe.compare(
            world.base,
            data=world.train,
            valid=world.valid,
            test=test_part,
            out=tmp_path / "study",
            seeds=seeds,
            budget=budget,
            changes=ONE_THREAD,
        )


def test_other_choices_compute_only_what_they_change(world, test_part, tmp_path, monkeypatch):
    computed = []
    compute = cells.compute_cell

    def counted(cell, *args, **more):
        computed.append(cell.name)
        return compute(cell, *args, **more)

    monkeypatch.setattr(cells, "compute_cell", counted)

    compared(world, test_part, tmp_path, seeds=1, budget="1epochs")
    assert len(computed) == 5
    for seeds, budget, anew in (
        (2, "1epochs", ["pretrained-all-2", "scratch-all-2"]),
        (1, "2epochs", ["pretrained-all-1", "scratch-all-1"]),
    ):
        computed.clear()
        compared(world, test_part, tmp_path, seeds=seeds, budget=budget)
        assert computed == anew


def test_a_base_that_was_not_loaded_ends_the_study(world, test_part, tmp_path, monkeypatch):
    from greffe.pipelines import finetune

    def forgotten(model, weights, source, *, keep_heads):
        from greffe.model.weights import Transfer

        return Transfer()

    monkeypatch.setattr(finetune, "transfer", forgotten)
    for _ in range(2):  # what was found wrong is not taken for done the next time
        with pytest.raises(MismatchError, match="not in the model at its first step"):
            compared(world, test_part, tmp_path, seeds=1, budget="1epochs")


def test_a_scratch_arm_that_reads_another_way_is_another_cell(world, test_part, tmp_path):
    with quiet():
        causal = greffe.pretrain(
            world.corpus,
            tmp_path / "causal",
            recipe="tiny",
            objective="causal",
            budget="2steps",
            changes=ONE_THREAD,
        )
    examples = list(read_examples(test_part, Reading()))
    parts = part_data(examples, None, None, seed=0)
    inputs = CellInputs(parts, Training())
    keys = set()
    for run in (greffe.load(world.base), causal):
        arm = ScratchArm("scratch", run)
        keys.add(cells.cell_key(Cell(arm, parts.labelled, 1, is_full=True), inputs))
    assert len(keys) == 2


def test_the_command_prints_tables_and_the_verdict(command, world, test_part, tmp_path):
    out = tmp_path / "study"
    done = command(
        *("compare", world.base, "--data", world.train, "--valid", world.valid),
        *("--test", test_part, "--out", out, *SMALL),
    )
    assert done.code == 0, done.err
    assert "pretrained - scratch" in done.out and "ensemble - tfidf" in done.out
    assert "2 seeds, 7 trainings" in done.err
    assert str(out / "report.html") in done.out
    assert "no difference can be significant" in done.err
    rebuilt = command("report", out, "--language", "fr", "--out", tmp_path / "fr")
    assert rebuilt.code == 0, rebuilt.err
    assert 'lang="fr"' in (tmp_path / "fr" / "report.html").read_text("utf-8")


def test_a_page_about_plain_runs(command, world, tmp_path):
    done = command("report", world.base, world.classifier, "--out", tmp_path)
    assert done.code == 0, done.err
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "base" in page
    assert "classifier" in page


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--labels", "many"), "cannot be read"),
        (("--labels", "1"), "1 labels cannot be drawn"),
        (("--arm", "no-path"), "cannot be read"),
        (("--arm", "x=nowhere"), "no run at nowhere"),
        (("--arm", "scratch=nowhere"), "no run at nowhere"),
        (("--set", "train.rate=3"), "train.rate"),
        (("--test", "nowhere.tsv"), "nowhere.tsv"),
    ],
)
def test_wrong_flags(command, world, tmp_path, flags, message):
    out = tmp_path / "study"
    done = command("compare", world.base, "--data", world.train, "--out", out, *flags)
    assert done.code in (2, 3)
    assert message in done.err
    assert "Traceback" not in done.err
    assert not out.exists()


@pytest.mark.alone
def test_a_study_killed_five_times_gives_the_same_report(world, test_part, tmp_path):
    def words(out):
        flags = ["--seeds", "2", "--labels", "12", "--budget", "6epochs"]
        flags += ["--set", "train.threads=1", "--set", "train.checkpoint_every=1steps"]
        files = ["--data", world.train, "--valid", world.valid, "--test", test_part, "--out", out]
        return list(
            map(str, [sys.executable, "-m", "greffe", "-q", "compare", world.base, *files, *flags])
        )

    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    began = time.monotonic()
    subprocess.run(words(whole), env=environment, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    draw = random.Random(4)
    for _ in range(5):
        process = subprocess.Popen(words(broken), env=environment, stdout=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.3, 0.9) * seconds / 2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        shutil.rmtree(broken / ".lock", ignore_errors=True)
    subprocess.run(words(broken), env=environment, check=True, stdout=subprocess.DEVNULL)
    first, second = (
        found_by(json.loads((folder / "report.json").read_text("utf-8")))
        for folder in (whole, broken)
    )
    assert second == first

"""A shipped base by its name: every verb accepts it, and none writes to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import greffe
from greffe import run as run_module
from greffe.data.corpus import Corpus
from greffe.errors import RunError
from greffe.model.weights import base_hash
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.storage import file_hash
from greffe.training.checkpoint import write_half

BASE, CLASSIFIER = "greffe-xx", "greffe-yy"
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def bases(world: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The base and the classifier of the session in half precision, as in a package."""
    folder = tmp_path_factory.mktemp("package") / "bases"
    for name, path in ((BASE, world.base), (CLASSIFIER, world.classifier)):
        write_half(RunDirectory.open(path), folder / name)
    return folder


@pytest.fixture(autouse=True)
def untouched(bases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use these bases as the shipped ones; check afterwards that no file has changed."""

    def content() -> dict[str, tuple[str, int]]:
        files = [path for path in bases.rglob("*") if path.is_file()]
        return {str(path): (file_hash(path), path.stat().st_mtime_ns) for path in files}

    monkeypatch.setattr(run_module, "bases_folder", lambda: bases)
    monkeypatch.chdir(tmp_path)
    before = content()
    yield
    assert content() == before


def test_a_shipped_base_is_loaded_by_its_name(base: Any) -> None:
    shipped = greffe.load(BASE)
    assert shipped.name == BASE
    assert "Bonjour" in shipped.generate("Bonjour", tokens=3)
    [theirs], [ours] = (run.fill("Un roman <mask>.", top=3) for run in (shipped, base))
    assert [one.probability for one in theirs] == pytest.approx(
        [one.probability for one in ours], abs=1e-2
    )


def test_a_shipped_classifier_predicts(world: Any, classifier: Any, command: Command) -> None:
    texts = ["Un roman magnifique.", "Une fin ridicule."]
    theirs, ours = (
        np.array([list(one.probabilities.values()) for one in run.predict(texts)])
        for run in (greffe.load(CLASSIFIER), classifier)
    )
    np.testing.assert_allclose(theirs, ours, atol=1e-2)
    assert command("predict", CLASSIFIER, *texts).code == 0
    evaluated = command("evaluate", CLASSIFIER, "--data", world.valid, "--json")
    assert evaluated.code == 0, evaluated.err


@pytest.mark.parametrize(
    "words",
    [
        ("generate", BASE, "Bonjour", "--tokens", "3"),
        ("fill", BASE, "Un roman <mask>."),
        ("show", BASE),
        ("show", BASE, "--json"),
        ("show", "mask", BASE),
        ("show", "positions", BASE),
    ],
)
def test_verbs_that_use_it(words: tuple[str, ...], command: Command, bases: Path) -> None:
    done = command(*words)
    assert done.code == 0, done.err
    assert str(bases) not in done.out + done.err
    if words[-2:] == ("show", BASE):
        assert f"Run {BASE}" in done.out


@pytest.mark.parametrize("verb", ["finetune", "pretrain", "linear"])
def test_runs_based_on_it_record_its_name(
    verb: str, world: Any, command: Command, bases: Path
) -> None:
    given = {
        "finetune": ["--data", world.train, "--valid", world.valid, "--budget", "2steps"],
        "pretrain": [world.text, "--budget", "2steps"],
        "linear": ["--data", world.train],
    }[verb]
    threads = [] if verb == "linear" else ["--set", "train.threads=1"]
    done = command(verb, *given, "--from", BASE, *threads, "--out", "run")
    assert done.code == 0, done.err
    assert verb == "linear" or f"loaded from {BASE}: base" in done.err
    lineage = greffe.load("run").manifest().lineage
    assert lineage.parent == BASE
    assert lineage.parent_weights == greffe.load(BASE).manifest().weights
    assert lineage.initial_base == base_hash(greffe.load(BASE).model)
    for path in Path("run").glob("*.json"):
        assert str(bases) not in path.read_text("utf-8")
    assert str(bases) not in done.err + command("show", "run").out


def test_its_architecture_or_its_tokenizer_alone(world: Any, command: Command) -> None:
    scratch = command(
        *("finetune", "--scratch", "--like", BASE, "--data", world.train, "--valid", world.valid),
        *("--budget", "2steps", "--set", "train.threads=1", "--out", "scratch"),
    )
    assert scratch.code == 0, scratch.err
    prepared = command("prepare", world.text, "--tokenizer", BASE, "--out", "corpus")
    assert prepared.code == 0, prepared.err
    expected = greffe.load(BASE).tokenizer.fingerprint
    assert greffe.load("scratch").tokenizer.fingerprint == expected
    assert Corpus.open("corpus").tokenizer.fingerprint == expected


def test_a_study_of_it(world: Any, bases: Path) -> None:
    with quiet():
        study = greffe.compare(
            BASE,
            data=world.train,
            valid=world.valid,
            test=[(text, label) for label, text in toy_reviews(12, seed=3)],
            out="study",
            seeds=1,
            arms={"again": BASE},
            budget="1epochs",
            changes=["train.threads=1"],
        )
    found = study.results
    assert {arm.run for arm in found.arms} == {BASE, None}
    assert found.repeat.hashes[BASE] == greffe.load(BASE).manifest().weights
    assert set(found.proof.initial_hashes["pretrained"]) == {found.proof.base_hash}
    assert str(bases) not in (study.path / "report.json").read_text("utf-8")


def test_doctor_and_report(world: Any, command: Command, bases: Path) -> None:
    evaluated = command("doctor", "--data", world.train, "--from", BASE)
    assert evaluated.code == 0 and "unknown scripts" in evaluated.out, evaluated.err
    refused = command("report", BASE)
    assert refused.code == 2 and "--out" in refused.err
    written = command("report", BASE, "--out", "page")
    assert written.code == 0, written.err
    page = Path("page/report.html").read_text("utf-8")
    assert BASE in page and str(bases) not in page


def test_a_folder_of_the_same_name_comes_first(world: Any, classifier: Any) -> None:
    Path(BASE).symlink_to(world.classifier)
    assert greffe.load(BASE).labels == classifier.labels


def test_the_error_for_an_unknown_name_lists_the_shipped_bases(
    world: Any, command: Command
) -> None:
    for words in (
        ("generate", "greffe-zz"),
        ("show", "greffe-zz"),
        ("show", "mask", "greffe-zz"),
        ("prepare", world.text, "--tokenizer", "greffe-zz", "--out", "corpus"),
        ("finetune", "--from", "greffe-zz", "--data", world.train, "--out", "run"),
    ):
        refused = command(*words)
        assert refused.code in (2, 3)
        assert f"{BASE}, {CLASSIFIER}, part of the package" in refused.err
    with pytest.raises(RunError, match="greffe-zz"):
        greffe.load("greffe-zz")
    assert not Path("corpus").exists() and not Path("run").exists()

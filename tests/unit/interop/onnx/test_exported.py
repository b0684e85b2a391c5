"""Exported folders: they answer as their runs do, and a damaged one is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.builders import toy_run

import greffe
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, DataError, InputError, MissingExtraError, RunError
from greffe.interop.onnx import session
from greffe.pipelines import export as pipeline
from greffe.run import RunDirectory

LABELS = ["négatif", "positif", "neutre"]
LONG = "Ce livre est vraiment magnifique, et je le relirai. " * 8
TEXTS = ["Ce roman est beau.", LONG, "", "Un <mask> ennuyeux 👍", "  deux  espaces\n"]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizer: Tokenizer) -> RunDirectory:
    """A run that labels texts, with fresh weights."""
    return toy_run(tmp_path_factory.mktemp("runs") / "classifier", tiny_tokenizer, LABELS)


@pytest.fixture(scope="module")
def exported(classifier: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as ONNX; tests that change it copy it."""
    return greffe.export(classifier, tmp_path_factory.mktemp("exported") / "classifier")


@pytest.fixture
def copied(exported: Path, tmp_path: Path) -> Path:
    """A copy of the exported folder."""
    for file in exported.iterdir():
        (tmp_path / "copied").mkdir(exist_ok=True)
        (tmp_path / "copied" / file.name).write_bytes(file.read_bytes())
    return tmp_path / "copied"


@pytest.fixture(scope="module")
def stacked(classifier: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> greffe.Run:
    """A linear run on TF-IDF, a base's features and the scores of another run."""
    return greffe.linear(
        data=_examples(),
        base=classifier.path,
        feature_runs=[classifier.path],
        out=tmp_path_factory.mktemp("linear") / "stacked",
    )


def _examples() -> list[tuple[str, str]]:
    words = {"négatif": "ennuyeux long triste", "positif": "beau magnifique", "neutre": "livre"}
    return [
        (f"Ce roman {words[label]} {number}.", label) for number in range(6) for label in LABELS
    ]


def _probabilities(model: greffe.Run | greffe.ExportedModel, texts: list[str]) -> np.ndarray:
    return np.array([list(found.probabilities.values()) for found in model.predict(texts)])


# --- equal answers --------------------------------------------------------------------------------


def test_probabilities_windows_and_labels_are_those_of_the_run(
    classifier: RunDirectory, exported: Path
) -> None:
    run, model = greffe.load(classifier.path), greffe.load(exported)
    assert isinstance(model, greffe.ExportedModel)
    ours, theirs = model.predict(TEXTS), run.predict(TEXTS)
    assert [each.windows for each in ours] == [each.windows for each in theirs]
    assert max(each.windows for each in ours) > 1
    assert model.labels == LABELS
    np.testing.assert_allclose(_probabilities(model, TEXTS), _probabilities(run, TEXTS), atol=1e-6)


def test_texts_are_cut_as_by_the_run(classifier: RunDirectory, exported: Path) -> None:
    run, model = greffe.load(classifier.path), greffe.load(exported)
    ours, theirs = (each.predict([LONG], long="cut")[0] for each in (model, run))
    assert (ours.cut, ours.windows) == (theirs.cut, theirs.windows)
    assert ours.cut > 0


def test_a_single_text_and_none(exported: Path) -> None:
    model = greffe.load(exported)
    assert len(model.predict("Ce livre.")) == 1
    assert model.predict([]) == []


def test_evaluation_is_that_of_the_run(classifier: RunDirectory, exported: Path) -> None:
    ours, theirs = (greffe.load(each).evaluate(_examples()) for each in (exported, classifier.path))
    assert ours.accuracy == theirs.accuracy
    assert ours.log_loss == pytest.approx(theirs.log_loss, abs=1e-6)


def test_a_model_abstains_below_a_score(exported: Path) -> None:
    assert all(found.abstains for found in greffe.load(exported).predict(TEXTS, min_score=1.0))


def test_tfidf_base_and_feature_runs_in_one_linear_model(
    stacked: greffe.Run, tmp_path: Path
) -> None:
    model = greffe.load(greffe.export(stacked, tmp_path / "exported"))
    np.testing.assert_allclose(
        _probabilities(model, TEXTS), _probabilities(stacked, TEXTS), atol=1e-5
    )
    assert (tmp_path / "exported" / "feature_runs" / "0" / "export.json").is_file()
    with pytest.raises(InputError, match="reads the whole text"):
        model.predict(TEXTS, long="cut")


def test_tfidf_alone(tmp_path: Path) -> None:
    run = greffe.linear(data=_examples(), out=tmp_path / "tfidf")
    model = greffe.load(greffe.export(run, tmp_path / "exported"))
    texts = [*TEXTS, *(text for text, _ in _examples())]
    np.testing.assert_allclose(_probabilities(model, texts), _probabilities(run, texts), atol=1e-5)
    with pytest.raises(InputError, match="not quantized"):
        greffe.export(run, tmp_path / "int8", format="onnx-int8")
    assert not (tmp_path / "int8").exists()


def test_an_ensemble(classifier: RunDirectory, stacked: greffe.Run, tmp_path: Path) -> None:
    run = greffe.ensemble([classifier.path, stacked], out=tmp_path / "ensemble")
    model = greffe.load(greffe.export(run, tmp_path / "exported"))
    np.testing.assert_allclose(_probabilities(model, TEXTS), _probabilities(run, TEXTS), atol=1e-5)


def test_features_are_those_that_linear_models_read(
    classifier: RunDirectory, tmp_path: Path
) -> None:
    from greffe.baselines.features import BaseReader

    model = greffe.load(greffe.export(classifier, tmp_path / "features", task="features"))
    expected = BaseReader.of(classifier).features(TEXTS)
    np.testing.assert_allclose(model.features(TEXTS), expected, atol=1e-5)


def test_next_tokens_of_a_shipped_base(tmp_path: Path) -> None:
    folder = greffe.export("greffe-fr", tmp_path / "next", task="next_token")
    found = greffe.load(folder).next_tokens("Bonjour les", top=5)
    assert len(found) == 5
    chances = [chance for _, chance in found]
    assert chances == sorted(chances, reverse=True)
    run = greffe.load("greffe-fr")
    best = run.generate("Bonjour les", tokens=1, temperature=0, repetition_penalty=1.0)
    assert best.removeprefix("Bonjour les") == found[0][0].replace("▁", " ")


def test_a_base_from_elsewhere(tiny_bert: Path, tmp_path: Path) -> None:
    folder = greffe.export(tiny_bert, tmp_path / "features")
    assert greffe.load(folder).features(["Ce livre."]).shape[0] == 1
    written = "".join(
        (folder / name).read_text() for name in ("export.json", "README.md", "tokenizer.json")
    )
    assert json.loads((folder / "export.json").read_text())["run"] == tiny_bert.name
    assert str(tiny_bert.parent) not in written  # no folders of this machine


def test_calibrated_probabilities(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    run = greffe.load(toy_run(tmp_path / "run", tiny_tokenizer, LABELS).path)
    with pytest.raises(RunError, match="calibrate"):
        greffe.export(run, tmp_path / "exported", calibrated=True)
    run.calibrate(_examples())
    model = greffe.load(greffe.export(run, tmp_path / "exported", calibrated=True))
    theirs = [list(each.probabilities.values()) for each in run.predict(TEXTS, calibrated=True)]
    np.testing.assert_allclose(_probabilities(model, TEXTS), theirs, atol=1e-6)
    assert model.predict(TEXTS, calibrated=True) == model.predict(TEXTS)


# --- int8 -----------------------------------------------------------------------------------------


def test_int8_is_checked_on_labelled_texts(
    classifier: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = greffe.export(classifier, tmp_path / "int8", format="onnx-int8", data=_examples())
    check = json.loads((folder / "export.json").read_text())["int8"]
    assert check["texts"] == len(_examples())
    assert "in int8" in capsys.readouterr().err


def test_int8_that_loses_accuracy_is_refused(
    classifier: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Below zero: even equal accuracies are too far apart.
    monkeypatch.setattr(pipeline, "MOST_LOST", -0.001)
    with pytest.raises(RunError, match=r"too much; nothing was written") as caught:
        greffe.export(classifier, tmp_path / "int8", format="onnx-int8", data=_examples())
    assert "% in int8" in str(caught.value)
    assert not (tmp_path / "int8").exists()


def test_int8_without_labelled_texts_is_a_warning(
    classifier: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    greffe.export(classifier, tmp_path / "int8", format="onnx-int8")
    assert "int8 was not checked" in capsys.readouterr().err


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file(copied: Path, name: str) -> None:
    (copied / name).unlink()
    with pytest.raises(CorruptError, match=f"{name} is missing"):
        greffe.load(copied)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_changed_file(copied: Path, name: str) -> None:
    content = bytearray((copied / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copied / name).write_bytes(content)
    with pytest.raises(CorruptError, match="was changed or is damaged"):
        greffe.load(copied)


def test_a_manifest_that_leads_out_of_the_folder(copied: Path) -> None:
    path = copied / "export.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["../secret"] = "0" * 64
    path.write_text(json.dumps(manifest))
    with pytest.raises(CorruptError, match="damaged or from another version"):
        greffe.load(copied)


def test_a_graph_that_is_none(copied: Path) -> None:
    from greffe.storage import file_hash

    (copied / "model.onnx").write_bytes(b"not a graph")
    path = copied / "export.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["model.onnx"] = file_hash(copied / "model.onnx")
    path.write_text(json.dumps(manifest))
    with pytest.raises(CorruptError, match="cannot be opened"):
        greffe.load(copied).predict(["Un livre"])


def test_an_onnxruntime_that_is_too_old(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.metadata, "version", lambda name: "1.16.3")
    with pytest.raises(RunError, match="needs a newer onnxruntime") as caught:
        greffe.load(exported).predict(["Un livre"])
    assert caught.value.found == "1.16.3"


@pytest.mark.parametrize("library", ["onnx", "onnxruntime"])
def test_a_library_that_is_not_installed(
    library: str, classifier: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=f"'{library}'"):
        greffe.export(classifier, tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


def test_an_unfinished_run(fresh_run: Callable[..., RunDirectory], tmp_path: Path) -> None:
    run = fresh_run("run", LABELS)
    manifest = run.manifest().model_copy(update={"status": "training"})
    run.write_manifest(manifest)
    with pytest.raises(RunError, match="is not finished"):
        greffe.export(run, tmp_path / "exported")


def test_a_damaged_run(fresh_run: Callable[..., RunDirectory], tmp_path: Path) -> None:
    run = fresh_run("run", LABELS)
    run.weights_path.write_bytes(run.weights_path.read_bytes()[:-10])
    with pytest.raises(CorruptError):
        greffe.export(run, tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"opset": 17}, "cannot be written for opset 17"),
        ({"opset": 999}, "cannot be written for opset 999"),
        ({"task": "next_token"}, "cannot be exported for next token"),
        ({"format": "huggingface", "task": "features"}, "keeps the run as it is"),
        ({"format": "huggingface", "calibrated": True}, "keeps the run as it is"),
        ({"data": [("a", "négatif")]}, "for checking what int8 changes"),
        (
            {"format": "onnx-int8", "task": "features", "data": [("a", "négatif")]},
            "check the accuracy of a classifier",
        ),
    ],
)
def test_choices_that_do_not_suit_the_run(
    choices: dict[str, object], message: str, classifier: RunDirectory, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        greffe.export(classifier, tmp_path / "exported", **choices)
    assert not (tmp_path / "exported").exists()


@pytest.mark.parametrize("text", [3, None, "seul \ud800"])
def test_what_is_not_text(exported: Path, text: object) -> None:
    with pytest.raises(DataError):
        greffe.load(exported).predict([text])


def test_outputs_that_are_not_finite_are_never_shown(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(self: session.Session, output: str, inputs: dict[str, np.ndarray]) -> np.ndarray:
        return np.full((len(inputs["input_ids"]), len(LABELS)), np.nan, np.float32)

    monkeypatch.setattr(session.Session, "run", run)
    with pytest.raises(CorruptError, match="not finite"):
        greffe.load(exported).predict(["Un livre."])


def test_a_task_that_the_folder_is_not_for(exported: Path) -> None:
    model = greffe.load(exported)
    with pytest.raises(InputError, match="cannot compute features"):
        model.features(TEXTS)
    with pytest.raises(InputError, match="cannot continue a text"):
        model.next_tokens("Bonjour")


@pytest.mark.parametrize("choices", [{"precision": "bf16"}, {"device": "cuda"}])
def test_another_device_or_precision(exported: Path, choices: dict[str, str]) -> None:
    with pytest.raises(InputError, match="as it was exported"):
        greffe.load(exported, **choices)


def test_a_folder_with_something_else_stays_as_it_is(
    classifier: RunDirectory, exported: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match="files that greffe did not write"):
        greffe.export(classifier, tmp_path)
    with pytest.raises(RunError, match="already holds"):
        greffe.export(classifier, exported)
    with pytest.raises(RunError, match="files that greffe did not write"):
        greffe.export(classifier, classifier.path, overwrite=True)
    assert greffe.load(classifier.path).predict(["Un livre."])
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_exported_folder_is_not_a_run(exported: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not a run") as caught:
        greffe.export(exported, tmp_path / "again")
    assert caught.value.found == "an exported model"


def test_onnxruntime_reports_nothing_to_its_makers(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))  # where it would keep its identifiers
    code = "import sys, greffe; greffe.load(sys.argv[1]).predict(['Un livre.'])"
    subprocess.run([sys.executable, "-c", code, str(exported)], check=True)
    assert [*tmp_path.iterdir()] == []


def test_torch_is_not_imported(exported: Path) -> None:
    code = (
        "import sys, greffe; model = greffe.load(sys.argv[1]); model.predict(['Un livre.']); "
        "print({'torch', 'sklearn', 'scipy', 'transformers', 'onnx'} & {*sys.modules})"
    )
    arguments = [sys.executable, "-c", code, str(exported)]
    found = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"

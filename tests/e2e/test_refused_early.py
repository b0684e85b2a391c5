"""What can be known before the work is checked before it, and a refusal changes nothing on disk."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path

import pytest

import greffe
from greffe.errors import GreffeError
from greffe.lab.run_lab import lab
from greffe.progress import quiet
from greffe.study.folder import STUDY_FILE

WORK = (
    "greffe.pipelines.fit.train",
    "greffe.pipelines.prepare.scan_documents",
    "greffe.data.native_tokenizer.learn",
    "greffe.pipelines.choose_recipe.training_speed",
    "greffe.pipelines.linear.fit_linear",
    "greffe.study.arms.linear_fit.fit_linear",
    "greffe.doctor.checks.known_from_corpus.corpus_overlap",
    "greffe.lab.run_lab.mask_task",
    "greffe.api.studies.run_document",
)
"""The steps that take time; nothing may be refused after the first of them."""

FILES = {
    "blank.tsv": b"positif\t \nn\xc3\xa9gatif\t  \n" * 20,
    "columns.csv": b"titre,prix,stock\nx,1,2\n",
    "empty.tsv": b"",
    "latin.txt": "un été à la mer\n".encode("latin-1"),
    "one_class.tsv": b"positif\tun livre\n" * 4,
    "other_labels.tsv": b"bon\tun livre\nmauvais\tun film\n" * 4,
    "text.txt": b"une ligne\n",
    "mine/report.md": b"years of work",
    "lab/sentencepiece.french.model": b"no model",
    "lab/dict.txt": b"un 1\n",
    "lab/cls-books/train.review.spm": "▁Un ▁roman .\n".encode(),
    "lab/cls-books/valid.review.spm": "▁Un ▁autre .\n".encode(),
    "begun/.greffe": b"",
    "begun/study/thesis.docx": b"years of work",
}


@pytest.fixture
def inputs(tmp_path: Path, world, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The paths that commands name; from here on, any work is an error."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "prepare.json").write_text("{}")
    other = shutil.copytree(world.base, tmp_path / "damaged")
    weights = (other / "weights.safetensors").read_bytes()
    (other / "weights.safetensors").write_bytes(weights[:-8] + bytes(8))

    def begin(*_: object, **__: object) -> None:
        raise AssertionError("the work has begun")

    for step in WORK:
        module, _, name = step.rpartition(".")
        monkeypatch.setattr(import_module(module), name, begin)
    return {**vars(world), "here": tmp_path}


def snapshot(folder: Path) -> dict[Path, bytes | None]:
    """Return all folders, and all files with their content."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def refuse(command, words: str, inputs: dict[str, Path], message: str) -> None:
    """Assert that a command is refused with this message and that nothing on disk changes."""
    before = snapshot(inputs["here"])
    outcome = command(*words.format(**inputs).split())
    assert outcome.code in (2, 3), outcome.err
    assert message in outcome.err, outcome.err
    assert "Traceback" not in outcome.err
    assert not outcome.out
    assert snapshot(inputs["here"]) == before


# --- studies ------------------------------------------------------------------------------------

COMPARE = "compare {base} --out {out} --data {train} "


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (COMPARE + "--test {train}", "nothing can be measured"),
        (COMPARE + "--valid {valid} --test {valid}", "nothing can be measured"),
        (COMPARE + "--test {here}/other_labels.tsv", "labels that are missing"),
        (COMPARE + "--test {here}/missing.tsv", "missing.tsv"),
        (COMPARE + "--test {here}/columns.csv", "--text-column"),
        (COMPARE + "--valid {here}/empty.tsv", "empty.tsv"),
        (COMPARE + "--aux-data {here}/other_labels.tsv", "other labels"),
        (COMPARE + "--corpus {here}/missing.txt", "missing.txt"),
        (COMPARE + "--corpus {here}/text.txt --corpus {here}/columns.csv", "--text-column"),
        (COMPARE + "--corpus {here}/latin.txt", "--encoding"),
        (COMPARE + "--labels 2", "cannot be drawn"),
        (COMPARE + "--labels 2000", "cannot be drawn"),
        (COMPARE + "--budget 20x", "'20x'"),
        (COMPARE + "--set train.lrr=1", "train.lrr"),
        (COMPARE + "--arm scratch={base}", "not a valid name"),
        (COMPARE + "--arm other={here}/damaged", "SHA-256"),
        (COMPARE + "--features-from {base}", "predicts no labels"),
        (
            "compare {base} --out {out} --data {here}/blank.tsv --valid {valid} --test {train}",
            "no words",
        ),
        ("compare {base} --out {out} --data {here}/one_class.tsv", "two classes"),
    ],
)
def test_studies(command, inputs, words, message) -> None:
    refuse(command, words, {**inputs, "out": inputs["here"] / "deep" / "out"}, message)
    study = inputs["here"] / "study"
    study.mkdir()
    (study / STUDY_FILE).write_text("{}")
    refuse(command, f"{words} --overwrite", {**inputs, "out": study}, message)


# --- corpora and runs ---------------------------------------------------------------------------

PREPARE = "prepare {text} --out {out} "
PRETRAIN = "pretrain {text} --out {out} --recipe tiny "
AUTOSIZED = "pretrain {text} --out {out} --budget 5m "
CONTINUED = "pretrain {text} --out {out} --from "
FINETUNE = "finetune --from {base} --out {out} --data {train} "
SCRATCH = "finetune --scratch --recipe tiny --out {out} --data {train} "
LINEAR = "linear --out {out} --data {train} "


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (PREPARE + "{here}/missing.txt", "missing.txt"),
        (PREPARE + "{here}/columns.csv", "--text-column"),
        (PREPARE + "{here}/latin.txt", "--encoding"),
        (PREPARE + "--encoding klingon", "klingon"),
        (PREPARE + "--vocab 200", "too small"),
        (PREPARE + "--tokenizer {here}", "no tokenizer"),
        (PRETRAIN + "{here}/missing.txt", "missing.txt"),
        (PRETRAIN + "{here}/columns.csv", "--text-column"),
        (PRETRAIN + "--vocab 200", "too small"),
        (PRETRAIN + "--valid 1", "1"),
        (PRETRAIN + "--budget 20x", "'20x'"),
        (PRETRAIN + "--objective classification", "cannot be pretrained"),
        (PRETRAIN + "--tokenizer {corpus} --lowercase", "--lowercase"),
        (AUTOSIZED + "{here}/missing.txt", "missing.txt"),
        (AUTOSIZED + "--objective classification", "cannot be pretrained"),
        (AUTOSIZED + "--tokenizer {here}", "no tokenizer"),
        (CONTINUED + "{here}/missing", "no run"),
        (CONTINUED + "{here}/damaged", "SHA-256"),
        (CONTINUED + "{base} --new-vocab 700 --tokenizer {corpus}", "--new-vocab 600"),
        (CONTINUED + "{base} --set model.layers=7", "another architecture"),
        ("pretrain {here}/unfinished --out {out}", "unfinished"),
        ("finetune --out {out} --data {train} --from {here}/damaged", "SHA-256"),
        (FINETUNE + "--valid {here}/other_labels.tsv", "'bon'"),
        (FINETUNE + "--valid {here}/missing.tsv", "missing.tsv"),
        (FINETUNE + "--aux-data {here}/other_labels.tsv", "other labels"),
        (FINETUNE + "--aux-data {here}/one_class.tsv", "lacks a class"),
        (FINETUNE + "--set objective.kind=masked", "masked"),
        (FINETUNE + "--budget 0steps", "0steps"),
        (
            "finetune --out {out} --data {train} --from {here}/damaged --aux-data {valid}",
            "SHA-256",
        ),
        (SCRATCH + "--set tokenizer.vocab=200", "too small"),
        (SCRATCH + "--aux-data {valid}", "--like"),
        (LINEAR + "--no-tfidf", "no features"),
        (LINEAR + "--from {here}/damaged", "SHA-256"),
        (LINEAR + "--features-from {base}", "predicts no labels"),
        ("linear --out {out} --data {here}/blank.tsv", "no words"),
        ("linear --out {out} --data {here}/one_class.tsv", "two classes"),
        ("ensemble {classifier} --out {out}", "two runs"),
        ("ensemble {classifier} {base} --out {out}", "predicts no labels"),
        ("ensemble {classifier} {here}/missing --out {out}", "no run"),
    ],
)
def test_corpora_and_runs(command, inputs, words, message) -> None:
    refuse(command, words, {**inputs, "out": inputs["here"] / "deep" / "out"}, message)
    verb = words.partition(" ")[0]
    old = shutil.copytree(
        inputs["corpus" if verb == "prepare" else "classifier"], inputs["here"] / "old"
    )
    refuse(command, f"{words} --overwrite", {**inputs, "out": old}, message)


@pytest.mark.parametrize(
    "words",
    [
        "pretrain {here}/missing.txt",
        "pretrain {here}/missing.txt --budget 5m",
        "finetune --from {base} --data {here}/missing.tsv",
        "finetune --from {base} --data {here}/missing.tsv --aux-data {train}",
        "linear --data {here}/missing.tsv",
        "compare {base} --data {here}/missing.tsv",
    ],
)
def test_the_folder_is_refused_first(command, inputs, words) -> None:
    refuse(command, f"{words} --out {{here}}", inputs, "greffe did not write")
    refuse(command, f"{words} --out {{here}}/text.txt/below", inputs, "cannot be created")


@pytest.mark.parametrize("words", [PRETRAIN, PRETRAIN.replace("{text}", "{corpus}"), FINETUNE])
def test_a_full_disk(command, inputs, monkeypatch, words) -> None:
    full = shutil.disk_usage(inputs["here"])._replace(free=100_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    out = inputs["here"] / "deep" / "out"
    refuse(command, words, {**inputs, "out": out}, "disk is too full")


# --- the lab, the demo and reports ----------------------------------------------------------------

LAB = "lab --out {here}/new/lab "


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (LAB + "--budget 20x", "'20x'"),
        (LAB + "--seeds 100000", "seeds"),
        (LAB + "--corpus {text}", "--lab-data"),
        (LAB + "--lab-data {here}", "does not contain"),
        (LAB + "--lab-data {here}/lab", "sentencepiece.french.model"),
        (LAB + "--docs {here}/text.txt/below", "cannot be created"),
        ("lab --out {here}", "greffe did not write"),
        ("lab --out {here} --overwrite", "greffe did not write"),
        ("lab --out {here}/begun", "greffe did not write"),
        ("demo --out {here}/begun", "greffe did not write"),
        ("demo --out {here}/text.txt", "cannot be created"),
        ("report {base} --out {here}/text.txt", "cannot be written"),
        ("report {base} --out {here}/text.txt/below", "cannot be created"),
        ("report {base} --out {here}/mine", "greffe did not write"),
        ("report {base} --out {here}/study", "another study"),
        ("report {base} {here}/missing --out {here}/new", "no run"),
        ("doctor --data {train} --corpus {here}/missing.txt", "missing.txt"),
        ("doctor --data {train} --corpus {here}/columns.csv", "--text-column"),
        ("doctor --data {train} --test {here}/missing.tsv --corpus {text}", "missing.tsv"),
        ("show positions {here}/damaged --out {here}/positions.bmp", "unsupported format"),
        ("show positions {here}/damaged --out .", "unsupported format"),
        ("show positions {here}/damaged --out {here}/text.txt/a.png", "cannot be written"),
        ("predict {classifier} --format csv --input {here}/missing.txt", "missing.txt"),
        ("predict {classifier} --format csv --input {here}/columns.csv", "--text-column"),
        ("evaluate {classifier} --data {here}/other_labels.tsv", "'bon'"),
    ],
)
def test_other_verbs(command, inputs, words, message) -> None:
    study = inputs["here"] / "study"
    study.mkdir()
    (study / STUDY_FILE).write_text("{}")
    (study / "report.json").write_text("{}")
    refuse(command, words, inputs, message)


# --- Python ---------------------------------------------------------------------------------------


def test_python_is_refused_as_early(world, inputs) -> None:
    out = inputs["here"] / "deep" / "out"
    before = snapshot(inputs["here"])
    with quiet():
        for call in (
            lambda: greffe.compare(world.base, data=world.train, test=world.train, out=out),
            lambda: greffe.compare(world.base, data=world.train, out=out, language="xx"),
            lambda: greffe.compare(world.base, data=world.train, out=out, seeds=[1, 1]),
            lambda: greffe.report(world.base, out, language="xx"),
            lambda: greffe.pretrain(world.text, out, objective="classification"),
            lambda: greffe.pretrain(world.text, out, valid=2.0),
            lambda: greffe.prepare(world.text, out, vocab=200),
            lambda: greffe.finetune(world.base, data=[("un", "a")], out=out),
            lambda: greffe.linear(data=world.train, out=out, tfidf=False),
            lambda: lab(out, language="xx"),  # type: ignore[arg-type]
            lambda: lab(out, seeds=-1),
        ):
            with pytest.raises(GreffeError):
                call()
    assert snapshot(inputs["here"]) == before

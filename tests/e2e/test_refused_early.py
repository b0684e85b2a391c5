"""What can be known before the work is checked before it, and a refusal changes nothing on disk."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path

import pytest

from greffe.study.folder import STUDY_FILE

WORK = (
    "greffe.pipelines.fit.train",
    "greffe.pipelines.prepare.scan_documents",
    "greffe.pipelines.prepare.train_tokenizer",
    "greffe.pipelines.finetune_recipe.train_tokenizer",
    "greffe.pipelines.choose_recipe.training_speed",
    "greffe.pipelines.linear.fit_linear",
    "greffe.study.arms.linear_fit.fit_linear",
    "greffe.doctor.checks.known_from_corpus.corpus_overlap",
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
}


@pytest.fixture
def inputs(tmp_path: Path, world, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The paths that commands name; from here on, any work is an error."""
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
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


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("{here}", "greffe did not write"),
        ("{here}/text.txt", "is a file"),
        ("{here}/text.txt/below", "cannot be created"),
        ("{base}", "greffe did not write"),
    ],
)
def test_the_folder_of_a_study(command, inputs, out, message) -> None:
    words = f"compare {{base}} --data {{here}}/missing.tsv --out {out}"
    refuse(command, words, inputs, message)

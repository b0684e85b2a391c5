"""Bad input through the command: a message, an exit code, no traceback, and nothing is lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

import greffe
from greffe.output_folder import LOCK_FILE
from greffe.progress import quiet


def refuse(outcome, *messages: str, code: int = 2) -> None:
    """Assert that the command failed with these messages and without a traceback."""
    assert outcome.code == code, outcome.err
    assert "error: " in outcome.err
    assert "Traceback" not in outcome.err
    for message in messages:
        assert message in outcome.err, outcome.err


def fill(words: str, world, folder: Path) -> list[str]:
    """Return the words of a command, with the paths of the session in the place of their names."""
    return words.format(**vars(world), here=folder, out=folder / "out").split()


FILES = {
    "empty.txt": b"",
    "folder/picture.bmp": b"BM",
    "latin.txt": "une ligne\nun été à la mer\n".encode("latin-1"),
    "wide.txt": "du texte large".encode("utf-16"),
    "columns.csv": b"titre,prix,stock\nx,1,2\n",
    "one_class.tsv": b"bon\tun\nbon\tdeux\n",
    "unknown_label.tsv": b"positif\tun\nneutre\tdeux\n",
    "swapped.csv": "\n".join(["foo,bar", *(f"un texte {n},{n % 2}" for n in range(40))]).encode(),
}
FINETUNE = "finetune --from {base} --out {out} --data "
PRETRAIN = "pretrain {corpus} --recipe tiny --out {out} "


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("prepare {here}/missing.txt --out {out}", ["missing.txt"]),
        ("prepare {here}/empty.txt --out {out}", ["empty"]),
        ("prepare {here}/folder --out {out}", [".txt", ".jsonl"]),
        ("prepare {here}/latin.txt --out {out}", ["latin.txt", "line 2", "0xE9", "--encoding"]),
        ("prepare {here}/wide.txt --out {out}", ["utf-16"]),
        ("prepare {text} --vocab 100 --out {out}", ["300", "100"]),
        (FINETUNE + "{here}/columns.csv", ["titre", "prix", "stock", "--text-column"]),
        (FINETUNE + "{here}/one_class.tsv", ["two classes", "'bon'"]),
        (FINETUNE + "{train} --aux-data {here}/unknown_label.tsv", ["other labels", "neutre"]),
        (
            FINETUNE + "{here}/swapped.csv --valid {here}/swapped.csv "
            "--text-column bar --label-column foo",
            ["different labels", "--label-column"],
        ),
        *(
            (f"{words}{{here}}/swapped.csv", ["may be a header", "foo, bar", "--text-column NAME"])
            for words in (
                FINETUNE,
                "predict {classifier} --input ",
                "evaluate {classifier} --data ",
            )
        ),
        ("evaluate {classifier} --data {here}/unknown_label.tsv", ["'neutre'", "'positif'"]),
        ("evaluate {base} --data {valid}", ["classification head"]),
        ("predict {base} texte", ["classification", "finetune"]),
        ("generate {classifier} Bonjour", ["next_token"]),
        (PRETRAIN + "--set train.lrr=1", ["train.lrr", "did you mean 'train.lr'?"]),
        (PRETRAIN + "--set objective.ratoi=0.2", ["did you mean 'objective.ratio'?"]),
        (PRETRAIN + "--set train.lr=-1", ["train.lr", "greater than 0", "-1"]),
        (PRETRAIN + "--set model.heads=5", ["width 48", "heads 5"]),
        (PRETRAIN + "--set train.budget=soon", ["'soon'", "20m"]),
        (PRETRAIN + "--set train.lr", ["section.key=value"]),
        (PRETRAIN + "--budget 100", ["'100'", "2000steps"]),
        ("pretrain {corpus} --recipe smal --out {out}", ["'smal'", "did you mean 'small'?"]),
    ],
)
def test_bad_files_and_values(command, world, tmp_path, words, messages):
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    refuse(command(*fill(words, world, tmp_path)), *messages)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (FINETUNE + "{train} --scratch", ["--from and --scratch are mutually exclusive."]),
        (FINETUNE + "{train} --resume --overwrite", ["--resume and --overwrite"]),
        (PRETRAIN + "--resume --overwrite", ["--resume and --overwrite"]),
        ("prepare {text} --out {out} --resume --overwrite", ["--resume and --overwrite"]),
        (FINETUNE + "{train} --like {base}", ["--like"]),
        (FINETUNE + "{train} --set objective.kind=masked", ["'masked'", "classification"]),
        ("finetune --data {train} --out {out}", ["--from RUN"]),
        ("pretrain {corpus} --vocab 900 --out {out}", ["--vocab", "prepared corpus"]),
        (
            "pretrain {text} --from {base} --tokenizer {corpus} --out {out}",
            ["--tokenizer", "--from", "--new-vocab"],
        ),
        ("pretrain {text} --new-vocab 500 --out {out}", ["no run is given", "greffe-fr"]),
        (
            "prepare {text} --lowercase --tokenizer {corpus} --out {out}",
            ["--lowercase", "newly trained"],
        ),
        ("show lab --out {out}", ["greffe show mask lab"]),
    ],
)
def test_flags_that_conflict_or_have_no_effect(command, world, tmp_path, words, messages):
    refuse(command(*fill(words, world, tmp_path)), *messages)
    assert not (tmp_path / "out").exists()


def test_columns_and_encoding_can_be_given(command, world, tmp_path):
    for name in ("latin.txt", "swapped.csv"):
        (tmp_path / name).write_bytes(FILES[name])
    prepare = "prepare {here}/latin.txt --encoding latin-1 --vocab 300 --out {here}/corpus"
    columns = FINETUNE + "{here}/swapped.csv --text-column foo --label-column bar --budget 1epochs"
    for words in (prepare, columns):
        outcome = command(*fill(words, world, tmp_path))
        assert outcome.code == 0, outcome.err


# --- damaged files --------------------------------------------------------------------------------


def truncate(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip_a_bit(data: bytes) -> bytes:
    return data[:-5] + bytes([data[-5] ^ 1]) + data[-4:]


@pytest.mark.parametrize(
    ("folder", "file", "damage", "message"),
    [
        ("classifier", "weights.safetensors", truncate, "damaged"),
        ("classifier", "weights.safetensors", flip_a_bit, "SHA-256"),
        ("classifier", "tokenizer.json", truncate, "tokenizer.json"),
        ("classifier", "run.json", truncate, "damaged"),
        ("corpus", "train-00000.tokens", truncate, "train-00000"),
        ("corpus", "train-00000.tokens", flip_a_bit, "SHA-256"),
        ("corpus", "corpus.json", truncate, "damaged"),
    ],
)
def test_damaged_files_are_named(command, world, tmp_path, folder, file, damage, message):
    copy = shutil.copytree(getattr(world, folder), tmp_path / "copy")
    (copy / file).write_bytes(damage((copy / file).read_bytes()))
    if folder == "classifier":
        outcome = command("predict", copy, "texte")
    else:
        outcome = command("pretrain", copy, "--recipe", "tiny", "--out", tmp_path / "out")
    refuse(outcome, file, message, code=3)


def test_another_tokenizer_names_both_fingerprints(command, world, tmp_path):
    other = tmp_path / "other"
    assert command("prepare", world.text, "--vocab", 500, "--out", other).code == 0
    run = shutil.copytree(world.classifier, tmp_path / "run")
    shutil.copy(other / "tokenizer.json", run / "tokenizer.json")
    fingerprints = [
        json.loads((corpus / "corpus.json").read_text())["fingerprint"][:12]
        for corpus in (world.corpus, other)
    ]
    refuse(command("predict", run, "texte"), *fingerprints, code=3)
    continued = command("pretrain", other, "--from", world.base, "--out", tmp_path / "out")
    refuse(continued, *fingerprints, code=3)


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("predict {here}/missing texte", ["no run"]),
        ("predict {corpus} texte", ["a prepared corpus"]),
        (
            "pretrain {corpus} --from {base} --set model.feed_forward=64 --out {out}",
            ["another architecture", "model.feed_forward was 96, now 64"],
        ),
    ],
)
def test_unusable_runs(command, world, tmp_path, words, messages):
    refuse(command(*fill(words, world, tmp_path)), *messages, code=3)
    assert not (tmp_path / "out").exists()


# --- output folders -------------------------------------------------------------------------------


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_existing_run_is_kept(command, world, tmp_path):
    run = shutil.copytree(world.classifier, tmp_path / "run")
    before = content(run)
    pretrain = ("pretrain", world.corpus, "--recipe", "tiny", "--out", run)
    refuse(command(*pretrain), "already holds a run", "--resume", "--overwrite", code=3)
    finetune = ("finetune", "--from", run, "--data", world.train, "--out", run, "--overwrite")
    refuse(command(*finetune), "would remove", code=3)
    with FileLock(run / LOCK_FILE):
        refuse(command(*pretrain, "--overwrite"), "in use by another process", code=3)
    (run / LOCK_FILE).unlink(missing_ok=True)
    assert content(run) == before


def test_resuming_with_another_recipe_is_refused(command, world, tmp_path, monkeypatch):
    words = fill(PRETRAIN + "--budget 6steps", world, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("greffe.training.interruption.Interruption.__init__", _already_requested)
        assert command(*words).code == 130
    refuse(command(*words, "--resume", "--set", "train.lr=0.5"), "train.lr", "0.5")


def _already_requested(self) -> None:
    self.requested = True
    self._previous = {}


def test_a_typo_does_not_block_the_corrected_command(command, world, tmp_path):
    words = ("--recipe", "tiny", "--budget", "2steps", "--vocab", 600, "--out", tmp_path / "out")
    refuse(command("pretrain", tmp_path / "txet.txt", *words), "txet.txt")
    outcome = command("pretrain", world.text, *words)
    assert outcome.code == 0, outcome.err


# --- training and texts ---------------------------------------------------------------------------


def test_without_a_compiler_training_continues_with_a_notice(command, world, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    words = PRETRAIN + "--budget 2steps --set train.compile=true"
    outcome = command(*fill(words, world, tmp_path))
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("without torch.compile") == 1


def test_a_training_that_diverges_ends_with_a_message(command, world, tmp_path):
    words = FINETUNE + (
        "{train} --valid {valid} --set train.lr=1e30 --set train.clip=0 --set train.warmup=0 "
        "--set train.nonfinite_limit=3 --budget 9epochs"
    )
    outcome = command(*fill(words, world, tmp_path))
    refuse(outcome, "not finite", "--set train.lr=", code=4)


def test_an_empty_text_is_predicted_too(command, world, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("un livre\n\nun autre\n", "utf-8")
    outcome = command("predict", world.classifier, "--input", path, "--format", "jsonl")
    assert outcome.code == 0, outcome.err
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert len(rows) == 3
    assert all(abs(sum(row["probabilities"].values()) - 1) < 1e-6 for row in rows)


def test_markup_in_a_text_is_printed_as_it_is(command, world):
    outcome = command("predict", world.classifier, "voir [/i] :smile: [red]ici")
    assert outcome.code == 0, outcome.err
    assert "voir [/i] :smile: [red]ici" in outcome.out


def test_labels_may_be_numbers_in_python(world, tmp_path):
    pairs = [("un bon livre", 1), ("un mauvais livre", 0)] * 4
    with quiet():
        run = greffe.finetune(
            world.base, data=pairs, valid=pairs, out=tmp_path / "r", budget="1epochs"
        )
    assert run.labels == ["0", "1"]


def test_evaluating_on_the_training_texts_prints_a_notice(command, world):
    assert "trained on" in command("evaluate", world.classifier, "--data", world.train).err
    assert "trained on" not in command("evaluate", world.classifier, "--data", world.valid).err

"""Every kind of bad input: a message with what was expected and found, an exit code, no loss."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

import greffe
from greffe.output_folder import LOCK_FILE
from greffe.progress import quiet


def refuse(outcome, *words: str, code: int = 2) -> None:
    """The command failed on purpose: a message with these words, and nothing like a traceback."""
    assert outcome.code == code, outcome.err
    assert "error: " in outcome.err
    assert "Traceback" not in outcome.err
    for word in words:
        assert word in outcome.err, outcome.err


# --- text ---------------------------------------------------------------------------------------


def test_a_missing_file(command, tmp_path):
    refuse(command("prepare", tmp_path / "nowhere.txt", "--out", tmp_path / "c"), "nowhere.txt")
    assert not (tmp_path / "c").exists()


def test_an_empty_file(command, tmp_path):
    (tmp_path / "empty.txt").touch()
    refuse(command("prepare", tmp_path / "empty.txt", "--out", tmp_path / "c"), "empty")
    assert not (tmp_path / "c").exists()


def test_a_folder_with_nothing_readable(command, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "picture.bmp").write_bytes(b"BM")
    refuse(command("prepare", tmp_path / "in", "--out", tmp_path / "c"), ".txt", ".jsonl")


def test_text_that_is_not_utf8_says_where_and_offers_an_encoding(command, tmp_path):
    path = tmp_path / "old.txt"
    path.write_bytes("une ligne\nun été à la mer\n".encode("latin-1"))
    outcome = command("prepare", path, "--out", tmp_path / "c")
    refuse(outcome, "old.txt", "line 2", "0xE9", "--encoding")
    encoded = command(
        "prepare", path, "--encoding", "latin-1", "--vocab", 300, "--out", tmp_path / "c"
    )
    assert encoded.code == 0, encoded.err


def test_a_5_megabyte_line_is_prepared(command, tmp_path):
    path = tmp_path / "long.txt"
    path.write_text(" ".join(map(str, range(780_000))) + "\nfin\n", "utf-8")
    size = path.stat().st_size - 2  # without the line ends
    assert size > 5_000_000
    outcome = command("prepare", path, "--vocab", 400, "--out", tmp_path / "c")
    assert outcome.code == 0, outcome.err
    manifest = json.loads((tmp_path / "c" / "corpus.json").read_text())
    # Cut into parts, at spaces that may fall away.
    assert manifest["bytes"] == pytest.approx(size, abs=16)


def test_a_nul_byte_is_text_but_a_file_of_them_is_not(command, tmp_path):
    (tmp_path / "lone.txt").write_bytes(b"avant\0apr\xc3\xa8s\nautre ligne\n")
    lone = command("prepare", tmp_path / "lone.txt", "--vocab", 300, "--out", tmp_path / "c")
    assert lone.code == 0, lone.err
    (tmp_path / "wide.txt").write_bytes("du texte large".encode("utf-16"))
    refuse(command("prepare", tmp_path / "wide.txt", "--out", tmp_path / "d"), "utf-16")


# --- labels -------------------------------------------------------------------------------------


def test_a_table_without_the_columns_says_which_there_are(command, world, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("titre,prix,stock\nx,1,2\n", "utf-8")
    outcome = command("finetune", "--from", world.base, "--data", path, "--out", tmp_path / "r")
    refuse(outcome, "titre", "prix", "stock", "--text-column")
    assert not (tmp_path / "r").exists()


def test_a_labelled_set_with_one_class(command, world, tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("bon\tun\nbon\tdeux\n", "utf-8")
    outcome = command("finetune", "--from", world.base, "--data", path, "--out", tmp_path / "r")
    refuse(outcome, "two classes", "'bon'")


def test_a_label_that_training_never_saw(command, world, tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("positif\tun\nneutre\tdeux\n", "utf-8")
    refuse(command("evaluate", world.classifier, "--data", path), "'neutre'", "'positif'")


def test_an_empty_text_is_kept_and_predicted(command, world, tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("un livre\n\nun autre\n", "utf-8")
    outcome = command("predict", world.classifier, "--input", path, "--format", "jsonl")
    assert outcome.code == 0, outcome.err
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert len(rows) == 3
    assert all(abs(sum(row["probabilities"].values()) - 1) < 1e-6 for row in rows)


# --- damage -------------------------------------------------------------------------------------


def damaged(source: Path, copy: Path, name: str, keep: float = 0.5) -> Path:
    """A copy of a folder in which one file is cut off."""
    shutil.copytree(source, copy)
    path = copy / name
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    return copy


def test_truncated_weights(command, world, tmp_path):
    run = damaged(world.classifier, tmp_path / "r", "weights.safetensors")
    refuse(command("predict", run, "texte"), "weights.safetensors", "damaged", code=3)


def test_weights_with_a_flipped_byte(command, world, tmp_path):
    run = tmp_path / "r"
    shutil.copytree(world.classifier, run)
    path = run / "weights.safetensors"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    refuse(command("predict", run, "texte"), "weights.safetensors", "SHA-256", code=3)


def test_truncated_tokenizer(command, world, tmp_path):
    run = damaged(world.classifier, tmp_path / "r", "tokenizer.json")
    refuse(command("predict", run, "texte"), "tokenizer.json", code=3)


def test_another_tokenizer_names_both_fingerprints(command, world, tmp_path):
    other = tmp_path / "other"
    assert command("prepare", world.text, "--vocab", 500, "--out", other).code == 0
    run = tmp_path / "r"
    shutil.copytree(world.classifier, run)
    shutil.copy(other / "tokenizer.json", run / "tokenizer.json")
    expected = json.loads((world.corpus / "corpus.json").read_text())["fingerprint"]
    found = json.loads((other / "corpus.json").read_text())["fingerprint"]
    refuse(command("predict", run, "texte"), expected[:12], found[:12], code=3)
    continued = command("pretrain", other, "--from", world.base, "--out", tmp_path / "p")
    refuse(continued, expected[:12], found[:12], code=3)


def test_truncated_shard(command, world, tmp_path):
    corpus = damaged(world.corpus, tmp_path / "c", "train-00000.tokens")
    outcome = command("pretrain", corpus, "--recipe", "tiny", "--out", tmp_path / "r")
    refuse(outcome, "train-00000", code=3)


def test_damaged_manifests(command, world, tmp_path):
    run = damaged(world.classifier, tmp_path / "r", "run.json")
    refuse(command("show", run), "run.json", code=3)
    corpus = damaged(world.corpus, tmp_path / "c", "corpus.json")
    outcome = command("pretrain", corpus, "--recipe", "tiny", "--out", tmp_path / "p")
    refuse(outcome, "corpus.json", code=3)


def test_weights_of_another_architecture(command, world, tmp_path):
    outcome = command(
        *("pretrain", world.corpus, "--from", world.base, "--out", tmp_path / "r"),
        *("--set", "model.feed_forward=64", "--budget", "2steps"),
    )
    refuse(outcome, "another architecture", "model.feed_forward was 96, now 64", code=3)


def test_what_is_no_run(command, world, tmp_path):
    refuse(command("predict", tmp_path / "nowhere", "texte"), "no run", code=3)
    refuse(command("predict", world.corpus, "texte"), "a prepared corpus", code=3)
    refuse(command("predict", world.base, "texte"), "classification", "finetune")
    refuse(command("generate", world.classifier, "Bonjour"), "next_token")


# --- recipes and flags --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("train.lrr=1", ("train.lrr", "did you mean 'train.lr'?")),
        ("objective.ratoi=0.2", ("objective.ratoi", "did you mean 'objective.ratio'?")),
        ("train.lr=-1", ("train.lr", "greater than 0", "-1")),
        ("model.heads=5", ("width 48", "heads 5")),
        ("train.budget=soon", ("'soon'", "20m")),
        ("train.lr", ("section.key=value",)),
    ],
)
def test_a_recipe_that_cannot_be(command, world, tmp_path, change, words):
    outcome = command(
        *("pretrain", world.corpus, "--recipe", "tiny", "--set", change, "--out", tmp_path / "r")
    )
    refuse(outcome, *words)
    assert not (tmp_path / "r").exists()


def test_an_unknown_recipe(command, world, tmp_path):
    outcome = command("pretrain", world.corpus, "--recipe", "smal", "--out", tmp_path / "r")
    refuse(outcome, "'smal'", "did you mean 'small'?")


def test_flags_that_contradict(command, world, tmp_path):
    both = ("--from", world.base, "--scratch", "--data", world.train, "--out", tmp_path / "r")
    refuse(command("finetune", *both), "--scratch --like RUN")
    refuse(command("finetune", "--data", world.train, "--out", tmp_path / "r"), "--from RUN")


# --- folders ------------------------------------------------------------------------------------


def test_a_folder_that_holds_a_run_is_refused_and_unchanged(command, world):
    before = (world.base / "weights.safetensors").read_bytes()
    outcome = command("pretrain", world.corpus, "--recipe", "tiny", "--out", world.base)
    refuse(outcome, "already holds a run", "--resume", "--overwrite", code=3)
    assert (world.base / "weights.safetensors").read_bytes() == before


def test_a_folder_of_the_users_own_files_is_never_emptied(command, world, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    outcome = command("pretrain", world.corpus, "--overwrite", "--out", tmp_path)
    refuse(outcome, "thesis.txt", code=3)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_folder_in_use_by_another_process(command, world, tmp_path):
    run = tmp_path / "r"
    shutil.copytree(world.base, run)
    with FileLock(run / LOCK_FILE):
        outcome = command("pretrain", world.corpus, "--overwrite", "--out", run)
    refuse(outcome, "in use by another process", code=3)
    assert (run / "weights.safetensors").exists()


def test_resuming_with_other_choices_is_refused(command, world, tmp_path, monkeypatch):
    run = tmp_path / "r"
    words = ("pretrain", world.corpus, "--recipe", "tiny", "--budget", "6steps", "--out", run)
    monkeypatch.setattr("greffe.training.interruption.Interruption.requested", True, raising=False)
    monkeypatch.setattr("greffe.training.interruption.Interruption.__init__", _already_requested)
    assert command(*words).code == 130
    monkeypatch.undo()
    refuse(command(*words, "--resume", "--set", "train.lr=0.5"), "train.lr", "0.5")


def _already_requested(self) -> None:
    self.requested = True
    self._previous = {}


def test_no_compiler_is_one_line_and_no_failure(command, world, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    outcome = command(
        *("pretrain", world.corpus, "--recipe", "tiny", "--budget", "2steps"),
        *("--set", "train.compile=true", "--out", tmp_path / "r"),
    )
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("without torch.compile") == 1


def test_overwrite_never_removes_the_run_that_is_grown_from(command, world, tmp_path):
    run = tmp_path / "r"
    shutil.copytree(world.classifier, run)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    words = ("finetune", "--from", run, "--data", world.train, "--out", run, "--overwrite")
    refuse(command(*words), "would remove", code=3)
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_a_typo_leaves_nothing_in_the_way_of_the_corrected_command(command, world, tmp_path):
    words = ("--recipe", "tiny", "--budget", "2steps", "--vocab", 600, "--out", tmp_path / "r")
    refuse(command("pretrain", tmp_path / "txet.txt", *words), "txet.txt")
    assert not (tmp_path / "r").exists()
    outcome = command("pretrain", world.text, *words)
    assert outcome.code == 0, outcome.err


def test_a_shard_with_a_flipped_byte(command, world, tmp_path):
    corpus = tmp_path / "c"
    shutil.copytree(world.corpus, corpus)
    path = corpus / "train-00000.tokens"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    outcome = command("pretrain", corpus, "--recipe", "tiny", "--out", tmp_path / "r")
    refuse(outcome, "train-00000.tokens", "SHA-256", code=3)


def test_flags_without_effect_are_refused(command, world, tmp_path):
    out = ("--out", tmp_path / "r")
    refuse(command("pretrain", world.corpus, "--vocab", 900, *out), "--vocab", "prepared corpus")
    parent = ("--from", world.base, "--tokenizer", world.corpus)
    refuse(command("pretrain", world.text, *parent, *out), "--tokenizer", "--from", "--new-vocab")
    out_of_place = command("pretrain", world.text, "--new-vocab", 500, *out)
    refuse(out_of_place, "no run is given", "greffe-fr")
    small = ("--lowercase", "--tokenizer", world.corpus)
    refuse(command("prepare", world.text, *small, *out), "--lowercase", "newly trained")
    both = ("--from", world.base, "--like", world.base, "--data", world.train)
    refuse(command("finetune", *both, *out), "--like")
    refuse(command("show", "lab", "--out", tmp_path / "x.png"), "greffe show mask lab")
    task = ("--from", world.base, "--data", world.train, "--set", "objective.kind=masked")
    refuse(command("finetune", *task, *out), "'masked'", "classification")


def test_a_budget_without_a_unit(command, world, tmp_path):
    words = ("pretrain", world.corpus, "--recipe", "tiny", "--budget", "100")
    refuse(command(*words, "--out", tmp_path / "r"), "'100'", "2000steps")


def test_a_vocabulary_too_small_to_train(command, world, tmp_path):
    refuse(command("prepare", world.text, "--vocab", 100, "--out", tmp_path / "c"), "300", "100")


def test_a_language_model_cannot_be_evaluated_on_labels(command, world):
    refuse(command("evaluate", world.base, "--data", world.valid), "classification head")


def test_text_that_looks_like_markup_is_text(command, world):
    outcome = command("predict", world.classifier, "voir [/i] :smile: [red]ici")
    assert outcome.code == 0, outcome.err
    assert "voir [/i] :smile: [red]ici" in outcome.out


def test_a_training_that_diverges_ends_with_a_message(command, world, tmp_path):
    outcome = command(
        *("finetune", "--from", world.base, "--data", world.train, "--valid", world.valid),
        *("--set", "train.lr=1e30", "--set", "train.clip=0", "--set", "train.warmup=0"),
        *("--set", "train.nonfinite_limit=3", "--budget", "9epochs", "--out", tmp_path / "r"),
    )
    refuse(outcome, "not finite", "--set train.lr=", code=4)


def test_labels_that_are_numbers_in_python(world, tmp_path):
    pairs = [("un bon livre", 1), ("un mauvais livre", 0)] * 4
    with quiet():
        run = greffe.finetune(
            world.base, data=pairs, valid=pairs, out=tmp_path / "r", budget="1epochs"
        )
    assert run.labels == ["0", "1"]


def test_columns_taken_for_each_other(command, world, tmp_path):
    path = tmp_path / "t.csv"
    rows = (f"un texte parmi d'autres, numéro {n};{n % 2}" for n in range(40))
    path.write_text("foo,bar\n" + "\n".join(row.replace(";", ",") for row in rows), "utf-8")
    words = ("finetune", "--from", world.base, "--data", path, "--valid", path)
    outcome = command(*words, "--out", tmp_path / "r")
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
    path.write_text("foo,bar\n" + "\n".join(f"un texte {n},{n % 2}" for n in range(40)), "utf-8")
    refuse(command(*words, "--out", tmp_path / "r"), "different labels", "--label-column")
    named = ("--text-column", "foo", "--label-column", "bar", "--budget", "1epochs")
    assert command(*words, *named, "--out", tmp_path / "r").code == 0


def test_evaluating_on_the_training_texts_is_noticed(command, world):
    assert "trained on" in command("evaluate", world.classifier, "--data", world.train).err
    assert "trained on" not in command("evaluate", world.classifier, "--data", world.valid).err

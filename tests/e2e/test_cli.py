"""The command as scripts use it: help, formats, standard input, JSON, quiet."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import pytest

import greffe
from greffe.cli.main import app

VERBS = [command.callback.__name__ for command in app.registered_commands]


def test_help_lists_every_verb_without_heavy_imports():
    script = (
        "import sys; sys.argv = ['greffe', '--help']\n"
        "from greffe.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'tokenizers', 'sklearn', 'pyarrow', 'numpy', 'pydantic'}\n"
        "print('loaded:', sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    verbs = done.stdout.partition("Commands:\n")[2]
    for verb in VERBS:
        assert f"  {verb} " in verbs
    assert "..." not in verbs  # each description fits into its line
    assert done.stdout.endswith("loaded: []\n")


def test_every_verb_has_help(command):
    assert {"pretrain", "finetune", "compare"} <= set(VERBS)
    for verb in VERBS:
        outcome = command(verb, "--help")
        assert outcome.code == 0
        assert f"Usage: greffe {verb}" in outcome.out


@pytest.mark.parametrize(
    "words",
    [
        ("pretrain", "text.txt", "--out", "o", "--replant"),
        ("finetune", "--data", "t.tsv", "--out", "o", "--also", "u.tsv"),
        ("finetune", "--data", "t.tsv", "--out", "o", "--members", "2"),
        ("linear", "--data", "t.tsv", "--out", "o", "--teacher", "run"),
        ("stack", "--data", "t.tsv", "--out", "o"),
        ("blend", "a", "b", "--out", "o"),
    ],
)
def test_old_names_are_gone(command, words):
    outcome = command(*words)
    assert outcome.code == 2
    assert "No such" in outcome.err


def test_unknown_keywords_are_explained(world, tmp_path):
    with pytest.raises(TypeError, match=r"did you mean 'budget'\?"):
        greffe.finetune(world.base, data=world.train, out=tmp_path / "r", bugdet="1m")


def test_help_offers_shell_completion(command):
    assert "--install-completion" in command("--help").out


def test_version(command):
    assert command("--version").out == f"greffe {greffe.__version__}\n"


def test_evaluate_as_json(command, world):
    outcome = command("evaluate", world.classifier, "--data", world.valid, "--json")
    result = json.loads(outcome.out)
    assert result["examples"] == 12
    assert sum(map(sum, result["confusion"])) == 12
    assert {"accuracy", "macro_f1", "log_loss", "calibration_error", "per_class"} <= result.keys()


def test_evaluate_as_tables(command, world):
    outcome = command("evaluate", world.classifier, "--data", world.valid)
    assert "accuracy" in outcome.out
    assert "Confusion" in outcome.out


def test_predict_reads_standard_input(command, world, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"un\ndeux\n")))
    outcome = command("predict", world.classifier, "--format", "jsonl")
    assert [set(json.loads(line)) for line in outcome.out.splitlines()] == [
        {"label", "score", "probabilities"}
    ] * 2


def test_predict_as_csv_and_table(command, world):
    outcome = command("predict", world.classifier, "un livre", "autre", "--format", "csv")
    header, *rows = csv.reader(io.StringIO(outcome.out))
    assert header == ["label", "score", "négatif", "positif"]
    assert len(rows) == 2
    assert float(rows[0][2]) + float(rows[0][3]) == pytest.approx(1)
    table = command("predict", world.classifier, "un livre").out
    assert "un livre" in table


def test_predict_prints_a_notice_about_cut_texts(command, world):
    long = "très " * 400
    windows = command("predict", world.classifier, long, "--format", "jsonl")
    assert "cut" not in windows.err
    cut = command("predict", world.classifier, long, "--format", "jsonl", "--long", "cut")
    assert "1 text was longer" in cut.err
    assert json.loads(cut.out)["score"] != json.loads(windows.out)["score"]


def test_generate_is_the_same_for_a_seed(command, world):
    words = ("generate", world.base, "Bonjour les", "--tokens", 12)
    first, second = (command(*words, "--seed", 1).out for _ in range(2))
    assert first == second
    assert first.startswith("Bonjour les")
    assert command(*words, "--seed", 2).out != first


def test_fill_prints_words_and_json(command, world):
    words = ("fill", world.base, "Ce livre est <mask>.", "--top", 3)
    assert "Ce livre est" in command(*words).out
    (gap,) = json.loads(command(*words, "--json").out)
    assert len(gap) == 3
    assert gap[0]["probability"] >= gap[1]["probability"]


def test_show_json_counts_the_lab_exactly(command):
    found = json.loads(command("show", "recipes/lab.toml", "--json").out)
    assert found["base"] == {"closed": 10_968_200, "counted": 10_968_200}
    assert found["heads"]["classification"]["total"] == 10_968_602
    assert found["heads"]["next_token"]["total_counted"] == 21_018_401


def test_show_a_run(command, world):
    text = command("show", world.classifier).out
    assert "classifier" in text
    assert str(world.base) in text
    assert (
        json.loads(command("show", world.classifier, "--json").out)["run"]["kind"] == "classifier"
    )


@pytest.mark.parametrize("kind", ["mask", "positions"])
def test_drawings_in_the_terminal_and_as_files(command, world, tmp_path, kind):
    assert len(command("show", kind).out.splitlines()) > 10
    assert len(command("show", kind, world.base).out.splitlines()) > 10
    for suffix in ("png", "svg"):
        path = tmp_path / f"{kind}.{suffix}"
        assert command("show", kind, "lab", "--out", path).code == 0
        assert path.stat().st_size > 1000
    assert command("show", kind, "lab", "--out", tmp_path / "x.bmp").code == 2


def test_quiet_prints_no_notices(command, world, tmp_path, monkeypatch):
    monkeypatch.setattr("greffe.progress._quiet", False)
    words = ("pretrain", world.corpus, "--recipe", "tiny", "--budget", "2steps")
    assert command("--quiet", *words, "--out", tmp_path / "r").err == ""


def test_show_tensors_lists_each_tensor(command, world, tmp_path):
    outcome = command(
        *("finetune", "--from", world.base, "--data", world.train, "--valid", world.valid),
        *("--budget", "1epochs", "--show-tensors", "--out", tmp_path / "r"),
    )
    assert "loaded     base.embedding.weight" in outcome.err
    assert "new        heads.classification.score.weight" in outcome.err
    assert "not loaded heads.masked_token" in outcome.err


def test_resuming_a_finished_run_changes_nothing(command, world):
    before = (world.base / "run.json").read_bytes()
    words = (
        *("pretrain", world.corpus, "--recipe", "tiny", "--objective", "hybrid"),
        *("--set", "train.threads=1", "--out", world.base, "--resume", "--budget"),
    )
    outcome = command(*words, "12steps")
    assert outcome.code == 0, outcome.err
    assert "already finished" in outcome.err
    other = command(*words, "99steps")
    assert other.code == 2
    assert "train.budget was '12steps', now '99steps'" in other.err
    assert (world.base / "run.json").read_bytes() == before

"""The command itself: its verbs and their help, the version, quiet, errors as messages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

import greffe
from greffe.cli.main import app

Command = Callable[..., Any]
VERBS = [one.name or one.callback.__name__ for one in app.registered_commands if one.callback]


def test_help_lists_every_verb_without_heavy_imports() -> None:
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
    options, _, verbs = done.stdout.partition("Commands:\n")
    for verb in VERBS:
        assert f"  {verb} " in verbs
    assert "--install-completion" in options
    assert "..." not in verbs  # each description fits into its line
    assert done.stdout.endswith("loaded: []\n")


HEAVY = (
    *("greffe.study", "greffe.report", "greffe.doctor", "greffe.lab", "greffe.api.training"),
    *("greffe.pipelines.fit", "greffe.training.distributed", "torch._dynamo", "torch._inductor"),
    *("sympy", "sklearn", "scipy", "pandas", "pyarrow", "jinja2", "babel", "matplotlib"),
)
"""Modules that take long to load; torch loads others itself."""


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "{classifier}", "Ce livre est beau."),
        ("predict", "{classifier}", "Ce livre est beau.", "--format", "jsonl"),
        ("generate", "greffe-fr", "Ce livre", "--tokens", "2"),
        ("fill", "greffe-fr", "Ce livre est <mask>."),
    ],
)
def test_using_a_run_loads_nothing_that_trains_or_reports(
    words: tuple[str, ...], classifier: Path
) -> None:
    arguments = [word.format(classifier=classifier) for word in words]
    script = (
        f"import sys; sys.argv = {['greffe', *arguments]}\n"
        "from greffe.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        f"print('loaded:', sorted(set({HEAVY}) & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.endswith("loaded: []\n"), done.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(command: Command, verb: str) -> None:
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
def test_old_names_are_gone(command: Command, words: tuple[str, ...]) -> None:
    outcome = command(*words)
    assert outcome.code == 2
    assert "No such" in outcome.err


def test_version(command: Command) -> None:
    assert command("--version").out == f"greffe {greffe.__version__}\n"


def test_quiet_prints_no_notices(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greffe.progress._quiet", False)
    words = ("show", "mask", "--out", tmp_path / "mask.svg")
    assert str(tmp_path) in command(*words).err
    assert command("--quiet", *words).err == ""


class PanicException(BaseException):
    """As tokenizers raises it."""


@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        (FileNotFoundError(2, "No such file", "a.txt"), 2, "error: No such file: a.txt\n"),
        (MemoryError("8 GB"), 2, "train.accumulation"),
        (MemoryError(), 2, "no more memory"),
        (RuntimeError("can't allocate memory: 8 GB"), 2, "train.accumulation"),
        (RuntimeError("could not create a primitive"), 2, "Out of memory"),
        (RuntimeError("can't start new thread"), 2, "Out of memory"),
        (ImportError("a.so: failed to map segment from shared object"), 2, "Out of memory"),
        (PanicException("no thread pool: ThreadPoolBuildError { … }"), 2, "Out of memory"),
        (greffe.errors.RunError("No run."), greffe.errors.RunError.exit_code, "error: No run."),
    ],
)
def test_an_expected_error_is_a_message_of_the_first_rank(
    error: BaseException,
    code: int,
    shown: str,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing = typer.Typer(pretty_exceptions_enable=False)

    @failing.command()
    def fail() -> None:
        raise error

    monkeypatch.setattr(sys.modules["greffe.cli.main"], "app", failing)
    monkeypatch.delenv("RANK", raising=False)
    outcome = command()
    assert outcome.code == code and shown in outcome.err
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    outcome = command()
    assert outcome.code == code and outcome.err == ""


@pytest.mark.parametrize("error", [RuntimeError("shapes differ"), KeyError("a"), BaseException()])
def test_a_bug_stays_visible(
    error: BaseException, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(sys.modules["greffe.cli.main"], "app", fail)
    with pytest.raises(type(error)):
        command()


def test_ctrl_c_before_the_command_begins_is_no_traceback(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["greffe.cli.main"], "app", interrupt)
    outcome = command()
    assert (outcome.code, outcome.err) == (130, "")


@pytest.mark.parametrize(("words", "code"), [("show lab", 0), ("predict nowhere text", 3)])
def test_a_closed_stream_is_no_traceback_and_no_other_stream(words: str, code: int) -> None:
    def run(closed: str) -> subprocess.CompletedProcess[str]:
        command = f'"{sys.executable}" -m greffe {words} {closed}'
        return subprocess.run(command, shell=True, capture_output=True, text=True)

    whole, no_output, no_errors = run(""), run(">&-"), run("2>&-")
    assert {whole.returncode, no_output.returncode, no_errors.returncode} == {code}
    assert no_output.stderr == whole.stderr
    assert no_errors.stdout == whole.stdout


def test_a_current_folder_that_was_removed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = subprocess.run(
        f'rmdir ../gone && "{sys.executable}" -m greffe predict greffe-fr text',
        shell=True,
        cwd=tmp_path / "gone",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert "current folder does not exist" in done.stderr

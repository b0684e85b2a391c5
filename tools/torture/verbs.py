"""The verbs that write, as commands that take about a second each, and the files they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from greffe.samples.toy import toy_documents, toy_reviews
from tools.fuzz.foreign_world import FOREIGN, make_foreign

OUT = "out"
"""The output folder, relative to the folder of a case."""

Again = Literal["--resume", "--overwrite", ""]


@dataclass(frozen=True)
class Verb:
    """A command that writes to a folder."""

    name: str
    words: Sequence[str]
    """The command; `@name` is a file or folder among the inputs."""
    again: Again
    """The option with which an interrupted command is continued; empty: the same command."""
    is_exact: bool = False
    """Whether the output holds no times and dates: then every byte must be equal."""
    gives: str | None = None
    """The input that other verbs read: an undisturbed result of this one."""

    def command(self, inputs: Path, *options: str) -> list[str]:
        """Return the words of the command line after `greffe`."""
        words = [
            str(inputs / word.removeprefix("@")) if word.startswith("@") else word
            for word in self.words
        ]
        return ["--quiet", *words, "--out", OUT, *(option for option in options if option)]


_STEPS = ("--set", "train.threads=1", "--set", "train.checkpoint_every=30%")
_TABLES = ("--data", "@train.tsv", "--valid", "@valid.tsv")
_FINETUNE = ("finetune", "--from", "@base", *_TABLES, "--budget", "6steps", *_STEPS)
_PRETRAIN = ("--recipe", "tiny", "--budget", "6steps", "--set", "train.evaluate_every=3steps")
_STUDY = ("--seeds", "1", "--budget", "4steps")

VERBS = (
    Verb(
        "prepare",
        ("prepare", "@text.txt", "--vocab", "400", "--valid", "0.1", "--workers", "1"),
        "--resume",
        gives="corpus",
    ),
    Verb(
        "pretrain",
        ("pretrain", "@corpus", *_PRETRAIN, "--objective", "hybrid", *_STEPS),
        "--resume",
        gives="base",
    ),
    Verb(
        "pretrain-text",
        ("pretrain", "@text.txt", *_PRETRAIN, "--vocab", "400", "--valid", "0.1", *_STEPS),
        "--resume",
    ),
    Verb("import", ("import", f"@{FOREIGN}"), "--overwrite"),
    Verb("finetune", _FINETUNE, "--resume", gives="classifier"),
    Verb("finetune-soup", (*_FINETUNE, "--soup", "2"), "--resume"),
    Verb("finetune-aux", (*_FINETUNE, "--aux-data", "@aux.tsv"), "--resume"),
    Verb(
        "linear",
        ("linear", "--data", "@train.tsv", "--from", "@base", "--features-from", "@classifier"),
        "--overwrite",
        gives="linear",
    ),
    Verb("ensemble", ("ensemble", "@classifier", "@linear"), "--overwrite"),
    Verb(
        "compare",
        ("compare", "@base", *_TABLES, "--test", "@test.tsv", *_STUDY, *_STEPS),
        "",
        gives="study",
    ),
    Verb("report", ("report", "@study"), "", is_exact=True),
    Verb("report-runs", ("report", "@base", "@classifier"), ""),  # its page has today's date
)


def write_texts(folder: Path) -> None:
    """Write the texts, the tables and the base from elsewhere that the verbs read."""
    documents = toy_documents(120, seed=0)
    (folder / "text.txt").write_text("".join(f"{text}\n" for text in documents), "utf-8")
    for name, count, seed in (("train", 24, 1), ("valid", 12, 2), ("test", 16, 3), ("aux", 160, 4)):
        lines = (f"{label}\t{text}\n" for label, text in toy_reviews(count, seed=seed))
        (folder / f"{name}.tsv").write_text("".join(lines), "utf-8")
    make_foreign(folder)

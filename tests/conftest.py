"""Fixtures that many tests share: toy sentences, a tokenizer, fresh runs, two ranks, commands."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from tests.builders import toy_run
from tests.foreign_models import save_bert

import greffe
from greffe import cli
from greffe.config.sections import TokenizerSpec
from greffe.seeding import rng

if TYPE_CHECKING:
    from greffe.data.tokenizer import Tokenizer
    from greffe.run import RunDirectory

torch.set_num_threads(1)

collect_ignore = ["fake_gpu"]
"""These need a process of their own, which tests/unit/test_fake_gpu.py starts."""

_SUBJECTS = ["Ce livre", "Ce roman", "Le film", "Cette histoire", "Le récit", "Un ouvrage"]
_VERBS = ["est", "était", "semble", "reste", "devient"]
_ADVERBS = ["", "très", "vraiment", "toujours", "plutôt"]
_ADJECTIVES = ["magnifique", "ennuyeux", "long", "beau", "triste", "excellent", "décevant"]
_ENDINGS = [".", " !", ", hélas.", " et je le relirai.", " mais trop court."]


@pytest.fixture(scope="session")
def tiny_texts() -> list[str]:
    """Four hundred toy reviews in something like French."""
    draw = rng(0, "tiny texts")
    return [
        " ".join(
            word
            for word in (
                draw.choice(_SUBJECTS),
                draw.choice(_VERBS),
                draw.choice(_ADVERBS),
                draw.choice(_ADJECTIVES),
            )
            if word
        )
        + str(draw.choice(_ENDINGS))
        for _ in range(400)
    ]


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_texts: list[str]) -> Tokenizer:
    """A small BPE vocabulary of these texts."""
    from greffe.data.native_tokenizer import train_tokenizer

    return train_tokenizer(tiny_texts, TokenizerSpec(kind="bpe", vocab=600))


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache of imported bases: one of the tests, not the user's."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GREFFE_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory, tiny_texts: list[str]) -> Path:
    """A small BERT in Hugging Face format, with both of its heads and its tokenizer."""
    return save_bert(tmp_path_factory.mktemp("models") / "tiny-bert", tiny_texts)


@pytest.fixture
def fresh_run(tmp_path: Path, tiny_tokenizer: Tokenizer) -> Callable[..., RunDirectory]:
    """Writes a finished run with fresh weights: a causal language model, or a classifier."""

    def make(name: str, labels: Sequence[str] = ()) -> RunDirectory:
        return toy_run(tmp_path / name, tiny_tokenizer, labels)

    return make


@pytest.fixture
def two_ranks() -> Callable[..., list[tuple[str, str]]]:
    """Runs Python code as two processes of one world; what each wrote to stdout and stderr."""

    def run(code: str, *arguments: str) -> list[tuple[str, str]]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        shared = {
            **os.environ,
            "PYTHONPATH": str(Path(greffe.__file__).parents[1]),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "WORLD_SIZE": "2",
        }
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", code, *arguments],
                env={**shared, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        try:
            return [process.communicate(timeout=120) for process in processes]
        finally:
            for process in processes:
                process.kill()

    return run


@dataclass(frozen=True)
class Outcome:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run the command in this process, as its entry point does."""

    def run(*words: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["greffe", *map(str, words)])
        capsys.readouterr()
        code: object = 0
        try:
            cli.main()
        except SystemExit as exit_:
            code = exit_.code or 0
        captured = capsys.readouterr()
        assert isinstance(code, int)
        return Outcome(code, captured.out, captured.err)

    return run

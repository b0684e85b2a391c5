"""Every console and Python block of README.md and docs/, run as it stands on small stand-in data.

A page runs from top to bottom in a folder of its own that holds the files and the runs the pages
speak of. Budgets, vocabularies and recipes are replaced with small ones (SMALLER), trainings get
one epoch and studies two seeds (QUICK). A block that cannot be run has a marker with the reason
directly before it: `<!-- not run: takes two hours -->`. A page that is a record has one marker for
all its blocks, which stands before the first of them and not directly before it.
"""

from __future__ import annotations

import functools
import json
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import typer
from tests.foreign_models import save_bert

import greffe
from greffe.cli.main import app
from greffe.progress import quiet
from greffe.samples.toy import toy_documents, toy_reviews

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RECORDS = ("experiments", "adr")
"""Folders of docs/ whose pages may carry one marker for all their blocks."""

SMALLER = {
    "20m": "2s",
    "12m": "2s",
    "1h": "4steps",
    "30m": "10s",
    "2000steps": "4steps",
    "4epochs": "1epochs",
    "small": "tiny",
    "16000": "600",
    "24000": "600",
    "50,100,all": "8,16,all",
}
NO_HUB = {"hf:almanach/camembert-base": "models/camembert-base"}
"""A tiny BERT takes the place of a model of the hub."""
NO_BASE = {"greffe-fr": "stand-in"}
"""In docs/ a tiny run takes the place of the shipped base; README.md runs with the real one."""
QUICK: dict[str, dict[str, Any]] = {
    "pretrain": {},
    "finetune": {"budget": "1epochs"},
    "compare": {"budget": "1epochs", "seeds": 2},
}
"""What is added to a verb, on the command line and in Python."""

_FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n+)?"
    r"^```(?P<language>\w*)(?P<more>[^\n]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_MARKER = re.compile(r"^<!-- not run: .+ -->$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    text: str
    reason: str | None
    title: str | None
    """A file that the block is the content of."""


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that somebody may want to run."""
    text = page.read_text("utf-8")
    found = [
        Block(
            match["language"],
            match["text"],
            match["reason"],
            title[1] if (title := re.search(r'title="([^"]+)"', match["more"])) else None,
        )
        for match in _FENCE.finditer(text)
    ]
    if is_record(page, text):
        return []
    return [block for block in found if block.language in ("console", "python", "toml")]


def is_record(page: Path, text: str) -> bool:
    """Whether the page carries a marker for all its blocks."""
    if page.relative_to(ROOT).parts[1:2] not in [(folder,) for folder in RECORDS]:
        return False
    before = re.split(r"^```", text, maxsplit=1, flags=re.MULTILINE)[0].rstrip()
    markers = list(_MARKER.finditer(before))
    return bool(markers) and markers[0].end() < len(before)


def commands(block: Block) -> list[str]:
    """The lines of a console block that begin with a prompt, with their continuations."""
    joined = block.text.replace("\\\n", " ")
    return [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ ")]


def smaller(text: str, page: Path) -> str:
    """The same text with small budgets, vocabularies and recipes."""
    words = SMALLER | NO_HUB if page.name == "README.md" else SMALLER | NO_HUB | NO_BASE
    choice = "|".join(map(re.escape, words))
    return re.sub(rf"(?<![\w./-])(?:{choice})(?![\w./-])", lambda match: words[match[0]], text)


# --- stand-ins ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files and runs that the pages speak of."""
    folder = tmp_path_factory.mktemp("docs")
    texts = list(toy_documents(200, seed=0))
    (folder / "corpus.txt.xz").write_bytes(lzma.compress("\n".join(texts[:100]).encode()))
    (folder / "more").mkdir()
    lines = (json.dumps({"text": text}) for text in texts[100:])
    (folder / "more" / "a.jsonl").write_text("\n".join(lines), "utf-8")
    for name, count in (("my_reviews", 40), ("texts", 5), ("french", 200)):
        (folder / f"{name}.txt").write_text("\n".join(texts[:count]), "utf-8")
    for seed, name in enumerate(("train", "valid", "test", "films", "restaurants"), 1):
        count = 12 if name in ("valid", "test") else 24
        rows = (f"{label}\t{text}\n" for label, text in toy_reviews(count, seed=seed))
        (folder / f"{name}.tsv").write_text("".join(rows), "utf-8")
    rows = (f'{n},2026-11-0{n},"{text}"' for n, (_, text) in enumerate(toy_reviews(5, seed=9)))
    (folder / "reviews.csv").write_text("id,date,text\n" + "\n".join(rows), "utf-8")
    _write_lab_files(folder, texts)
    save_bert(folder / "models" / "camembert-base", texts)
    with quiet():
        corpus = folder / "runs" / "corpus"
        greffe.prepare(folder / "french.txt", corpus, vocab=600, valid=0.1, workers=1)
        base = greffe.pretrain(
            corpus, folder / "runs/base", recipe="tiny", objective="hybrid", budget="4steps"
        )
        tables = {"data": folder / "train.tsv", "valid": folder / "valid.tsv"}
        greffe.finetune(base, **tables, out=folder / "runs/clf", budget="1epochs")
        study = folder / "runs/study"
        greffe.compare(base, **tables, out=study, budget="1epochs", seeds=2)
    shutil.copytree(base.path, folder / "stand-in")
    return folder


def _write_lab_files(folder: Path, texts: list[str]) -> None:
    """A small SentencePiece model, its dictionary, and reviews as its pieces."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_prefix=str(folder / "sentencepiece.french"),
        vocab_size=400,
        model_type="bpe",
        minloglevel=2,
    )
    model = sentencepiece.SentencePieceProcessor(
        model_file=str(folder / "sentencepiece.french.model")
    )
    pieces = [model.id_to_piece(number) for number in range(3, model.vocab_size())]
    (folder / "dict.txt").write_text("".join(f"{piece} 1\n" for piece in pieces), "utf-8")
    (folder / "cls-books").mkdir()
    for name, count, seed in (("train", 24, 1), ("valid", 12, 2)):
        labels, reviews = zip(*toy_reviews(count, seed=seed), strict=True)
        encoded = (" ".join(model.encode(review, out_type=str)) for review in reviews)
        (folder / "cls-books" / f"{name}.review.spm").write_text("\n".join(encoded), "utf-8")
        (folder / "cls-books" / f"{name}.label").write_text(
            "\n".join(str(int(label == "positif")) for label in labels), "utf-8"
        )


# --- running --------------------------------------------------------------------------------------


@pytest.fixture
def workplace(stand_ins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the stand-ins, as the current folder."""
    place = tmp_path / "place"
    shutil.copytree(stand_ins, place)
    monkeypatch.chdir(place)
    # transformers copies the code of an exported folder there.
    modules = "transformers.dynamic_module_utils.HF_MODULES_CACHE"
    monkeypatch.setattr(modules, str(tmp_path / "modules"))
    return place


class Runner:
    """Runs the commands of one page; a run that the page makes replaces the stand-in."""

    def __init__(self, command: Callable[..., Any]) -> None:
        self.command = command
        self.made: set[str] = set()
        self.source = Path(greffe.__file__).parents[1]
        """Where the package is imported from."""

    def run(self, line: str) -> None:
        words = shlex.split(line, comments=True)
        if words[0] == "make":
            self._shell(shlex.join(["make", "--dry-run", *words[1:]]), ROOT)
        elif words[0] != "greffe" or {"|", ">"} & set(words) or self.source == Path("src"):
            self._make_room(words)
            self._shell(line, Path.cwd())
        else:
            self._make_room(words)
            outcome = self.command(*self._quick(words[1:]))
            assert outcome.code == 0, (line, outcome.err)

    def add_file(self, title: str, text: str) -> None:
        """Write a file that a page shows; one of the package is added to a copy and imported."""
        if title.startswith("src/") and self.source != Path("src"):
            shutil.copytree(self.source, "src", ignore=shutil.ignore_patterns("__pycache__"))
            self.source = Path("src")
        Path(title).write_text(text, "utf-8")
        if title.startswith("src/"):
            module = ".".join(Path(title).with_suffix("").parts[1:])
            self._shell(f"python -c 'import {module}'", Path.cwd())

    def _quick(self, words: list[str]) -> list[str]:
        for name, value in QUICK.get(words[0], {}).items():
            if f"--{name}" not in words:
                words = [*words, f"--{name}", str(value)]
        return words

    def _make_room(self, words: list[str]) -> None:
        if "--out" in words and "--resume" not in words:
            self.make_room(words[words.index("--out") + 1])

    def make_room(self, out: str) -> None:
        """Remove the stand-in of what is about to be made, once."""
        if out not in self.made:
            shutil.rmtree(out, ignore_errors=True)
        self.made.add(out)

    def _shell(self, line: str, folder: Path) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        source = str(self.source.resolve())
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=folder,
            env={
                **os.environ,
                "PATH": path,
                "PYTHONPATH": source,
                "OMP_NUM_THREADS": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (line, done.stderr)


def _quick_function(function: Callable[..., Any], runner: Runner, **quick: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        runner.make_room(given["out"] if "out" in given else args[1])
        return function(*args, **{**quick, **given})

    return call


def _runnable() -> Iterator[Any]:
    for page in PAGES:
        if any(block.reason is None for block in blocks(page)):
            yield pytest.param(page, id=page.relative_to(ROOT).as_posix())


@pytest.mark.slow
@pytest.mark.parametrize("page", list(_runnable()))
def test_every_block_of_the_page_runs(page, workplace, command, monkeypatch):
    runner = Runner(command)
    for name, quick in QUICK.items():
        monkeypatch.setattr(greffe, name, _quick_function(getattr(greffe, name), runner, **quick))
    for block in blocks(page):
        if block.title is not None:
            runner.add_file(block.title, smaller(block.text, page))
        elif block.reason is not None:
            continue
        elif block.language == "console":
            lines = commands(block)
            assert lines, f"no command begins with '$ ': {block.text}"
            for line in lines:
                runner.run(smaller(line, page))
        elif block.language == "python":
            with quiet():
                exec(compile(smaller(block.text, page), page.name, "exec"), {})


# --- the pages themselves -------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_are_written_so_that_they_can_be_checked(page):
    for match in _FENCE.finditer(page.read_text("utf-8")):
        assert match["language"] not in ("bash", "sh", "shell", "py", "pycon"), match[0]
    for block in blocks(page):
        if block.language == "toml":
            tomllib.loads(block.text)


def test_every_verb_is_documented():
    lines = [line for page in PAGES for block in blocks(page) for line in commands(block)]
    shown = {words[1] for line in lines if (words := line.split())[0] == "greffe"}
    assert shown >= set(typer.main.get_command(app).commands) - {"demo"}  # `make demo` runs it


def test_links_between_files_of_the_repository_lead_somewhere():
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text("utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", text):
            assert (ROOT / target).exists(), f"{name}: {target}"


def test_the_readme_is_short_and_names_the_commands_that_matter():
    page = ROOT / "README.md"
    lines = [line for block in blocks(page) for line in commands(block)]
    assert {line.split("#")[0].strip() for line in lines} >= {
        "make demo",
        "make test",
        ". .venv/bin/activate",
    }
    assert len(page.read_text("utf-8").splitlines()) <= 150


def test_the_lab_has_the_parameters_that_the_pages_say(command):
    shown = command("show", "lab").out
    for number in ("10,968,200", "10,968,602", "21,018,401"):
        assert number in shown
        assert number in (ROOT / "docs/tutorials/five-questions.md").read_text("utf-8")


def test_the_map_names_every_room():
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    rooms = text.partition("src/greffe/\n")[2].partition("\ntests/")[0]
    named = set(re.findall(r"(?<![\w/-])[\w-]+(?:\.py\b|/)", "\n".join(_names(rooms))))
    package = ROOT / "src" / "greffe"
    found = {item.name + "/" * item.is_dir() for item in package.iterdir()}
    assert named == found - {"__pycache__/", "__init__.pyi", "py.typed"}
    assert len(text.splitlines()) <= 150


def _names(rooms: str) -> Iterator[str]:
    """What stands before the description of each line."""
    for line in rooms.splitlines():
        yield re.split(r"\s{2,}", line.strip(), maxsplit=1)[0]

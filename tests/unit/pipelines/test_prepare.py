from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from greffe.config.option_groups import flat_keywords
from greffe.config.options import Reading
from greffe.config.sections import TokenizerSpec
from greffe.data import encoding, scan
from greffe.data import shard_writer as writing
from greffe.data.corpus import Corpus
from greffe.data.native_tokenizer import train_tokenizer
from greffe.data.pieces import Step
from greffe.data.text import read_documents
from greffe.data.tokenizer import Tokenizer
from greffe.errors import (
    CorruptError,
    DataError,
    InterruptedRunError,
    MismatchError,
    RecipeError,
    RunError,
    RunExistsError,
)
from greffe.pipelines import prepare as prepare_module
from greffe.storage import read_json

prepare = flat_keywords(prepare_module.prepare)

SMALL = TokenizerSpec(vocab=400)
WORDS = ["le", "la", "un", "une", "livre", "film", "histoire", "très", "beau", "grand", "été", "où"]


def make_lines(count: int, seed: int = 0) -> list[str]:
    generator = np.random.default_rng(seed)
    return [
        " ".join(generator.choice(WORDS, int(generator.integers(5, 40)))) + f" {number}"
        for number in range(count)
    ]


def write_text(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def texts(corpus: Corpus, part: str) -> list[str]:
    tokens = getattr(corpus, part)
    return [corpus.tokenizer.decode(tokens.document(i).tolist()) for i in range(tokens.documents)]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare_module, "SHARD_BYTES", 20_000)
    monkeypatch.setattr(prepare_module, "CHUNK_BYTES", 4_000)
    monkeypatch.setattr(encoding, "CHUNK_BYTES", 4_000)
    # Processes only where a test asks for them.
    monkeypatch.setattr(prepare_module, "cores", lambda: 1)


# --- what comes out -----------------------------------------------------------------------------


def test_every_document_is_in_one_part(tmp_path: Path) -> None:
    lines = make_lines(300)
    source = write_text(tmp_path / "a.txt", lines)
    corpus = prepare(source, tmp_path / "out", vocab=400, valid=0.1)
    assert corpus.valid.documents == 30 and corpus.train.documents == 270
    train, valid = texts(corpus, "train"), texts(corpus, "valid")
    assert sorted(train + valid) == sorted(lines)
    assert [line for line in lines if line in set(train)] == train  # the order is kept
    assert corpus.manifest.bytes == sum(len(line.encode()) for line in lines)
    assert corpus.train.bytes + corpus.valid.bytes == corpus.manifest.bytes
    ids = corpus.train.document(0)
    assert (ids[0], ids[-1]) == (corpus.tokenizer.sos, corpus.tokenizer.eos)
    corpus.verify()


def test_the_folder_contains_only_the_corpus(tmp_path: Path) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(50))
    prepare(source, tmp_path / "out", vocab=400)
    assert sorted(content(tmp_path / "out")) == [
        "corpus.json",
        "tokenizer.json",
        "train-00000.offsets",
        "train-00000.tokens",
        "valid-00000.offsets",
        "valid-00000.tokens",
    ]


def test_duplicates_are_dropped_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = make_lines(40)
    a = write_text(tmp_path / "a.txt", [*lines, lines[3], lines[3], lines[7]])
    b = write_text(tmp_path / "b.txt", [lines[0], "only here", lines[39]])
    corpus = prepare([a, b], tmp_path / "out", vocab=400)
    assert (corpus.manifest.documents, corpus.manifest.duplicates) == (41, 5)
    assert sorted(texts(corpus, "train") + texts(corpus, "valid")) == sorted([*lines, "only here"])
    assert "5 duplicates dropped" in capsys.readouterr().err


def test_validation_part_does_not_depend_on_order(tmp_path: Path) -> None:
    lines = make_lines(200)
    forward = write_text(tmp_path / "a.txt", lines)
    backward = write_text(tmp_path / "b.txt", [*lines[::-1], lines[5]])
    first = prepare(forward, tmp_path / "out", vocab=400, valid=0.05)
    second = prepare(backward, tmp_path / "out2", vocab=400, valid=0.05)
    other = prepare(forward, tmp_path / "out3", vocab=400, valid=0.05, seed=1)
    assert sorted(texts(first, "valid")) == sorted(texts(second, "valid"))
    assert sorted(texts(first, "valid")) != sorted(texts(other, "valid"))
    assert not set(texts(first, "valid")) & set(texts(first, "train"))


@pytest.mark.parametrize(
    ("documents", "valid", "held_out"),
    [(1, 0.01, 0), (2, 0.01, 1), (3, 0.01, 1), (4, 0.99, 3), (5, 0, 0)],
)
def test_number_of_documents_held_out(
    tmp_path: Path,
    documents: int,
    valid: float,
    held_out: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(documents))
    corpus = prepare(source, tmp_path / "out", vocab=400, valid=valid)
    assert (corpus.train.documents, corpus.valid.documents) == (documents - held_out, held_out)
    assert ("--documents paragraph" in capsys.readouterr().err) == (documents == 1)


def test_nul_bytes_are_text_and_blank_lines_are_dropped(tmp_path: Path) -> None:
    lines = [*make_lines(20), "before\0after", "", "   "]
    source = write_text(tmp_path / "a.txt", lines)
    corpus = prepare(source, tmp_path / "out", vocab=400)
    assert corpus.manifest.documents == 21
    assert "before\0after" in texts(corpus, "train") + texts(corpus, "valid")


def test_a_line_of_five_megabytes_is_split(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = " ".join(make_lines(40_000))[:5_000_000]
    source = write_text(tmp_path / "a.txt", [line])
    tokenizer = train_tokenizer(make_lines(100), SMALL)
    corpus = prepare(source, tmp_path / "out", tokenizer=tokenizer, workers=1)
    assert 5 <= corpus.manifest.documents <= 6
    assert corpus.manifest.bytes > len(line.encode()) - 10
    assert capsys.readouterr().err.count("split into parts") == 1  # printed once, read twice


def test_compressed_and_plain_sources_together(tmp_path: Path) -> None:
    lines = make_lines(60)
    write_text(tmp_path / "a.txt", lines[:30])
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress("\n".join(lines[30:]).encode()))
    corpus = prepare([tmp_path / "a.txt", tmp_path / "b.txt.gz"], tmp_path / "out", vocab=400)
    assert sorted(texts(corpus, "train") + texts(corpus, "valid")) == sorted(lines)
    names = [source["name"] for source in corpus.manifest.request.sources]
    assert names == ["a.txt", "b.txt.gz"]


def test_documents_can_be_paragraphs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\n\n\nfour\n")
    options = Reading(documents="paragraph")
    corpus = prepare(tmp_path / "a.txt", tmp_path / "o", vocab=400, reading=options)
    found = texts(corpus, "train") + texts(corpus, "valid")
    assert sorted(found) == ["four", "one\ntwo", "three"]


# --- tokenizers ---------------------------------------------------------------------------------


def test_a_tokenizer_can_be_given_by_folder_file_or_object(tmp_path: Path) -> None:
    a = write_text(tmp_path / "a.txt", make_lines(60))
    b = write_text(tmp_path / "b.txt", make_lines(60, seed=1))
    first = prepare(a, tmp_path / "first", vocab=400)
    file = tmp_path / "first" / "tokenizer.json"
    givens: list[str | Path | Tokenizer] = [tmp_path / "first", str(file), first.tokenizer]
    for number, given in enumerate(givens):
        corpus = prepare(b, tmp_path / f"out{number}", tokenizer=given)
        assert corpus.manifest.fingerprint == first.manifest.fingerprint


def test_tokenizer_is_trained_on_training_documents_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = make_lines(100)
    source = write_text(tmp_path / "a.txt", [*lines, *lines])
    seen: list[str] = []

    def spy(documents: Iterator[str], spec: TokenizerSpec, letters: list[Step]) -> Tokenizer:
        seen.extend(documents)
        return train_tokenizer(iter(seen), spec, letters)

    monkeypatch.setattr(prepare_module, "train_tokenizer", spy)
    corpus = prepare(source, tmp_path / "out", vocab=400, valid=0.2)
    assert seen == texts(corpus, "train")


def test_tokenizer_sample_is_spread_and_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = make_lines(4000)
    source = write_text(tmp_path / "a.txt", lines)
    size = sum(len(line.encode()) for line in lines) // 10
    numbers: list[int] = []

    def spy(documents: Iterator[str], spec: TokenizerSpec, letters: list[Step]) -> Tokenizer:
        sample = list(documents)
        assert sum(len(document.encode()) for document in sample) <= size
        numbers.extend(int(document.split()[-1]) for document in sample)
        return train_tokenizer(iter(sample), spec, letters)

    monkeypatch.setattr(prepare_module, "train_tokenizer", spy)
    monkeypatch.setattr(prepare_module, "SAMPLE_BYTES", size)
    prepare(source, tmp_path / "out", vocab=400)
    assert 300 < len(numbers) < 500
    assert all(np.histogram(numbers, bins=10, range=(0, 4000))[0] > 10)


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_a_missing_tokenizer_is_an_error(tmp_path: Path, name: str) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(5))
    with pytest.raises(DataError, match="no tokenizer"):
        prepare(source, tmp_path / "out", tokenizer=tmp_path / name)
    assert not (tmp_path / "out").exists()


# --- parallel -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_shards")
def test_one_and_two_workers_write_the_same(tmp_path: Path) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(800))
    one = prepare(source, tmp_path / "one", vocab=400, workers=1)
    prepare(source, tmp_path / "two", vocab=400, workers=2)
    assert len(one.manifest.train) > 3
    assert content(tmp_path / "one") == content(tmp_path / "two")


@pytest.mark.usefixtures("small_shards")
def test_a_killed_worker_is_an_error_and_the_rest_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(800))
    whole = prepare(source, tmp_path / "whole", vocab=400)
    monkeypatch.setattr(
        writing.ShardWriter, "close", after(2, kill_a_worker, writing.ShardWriter.close)
    )
    with pytest.raises(RunError, match="worker process died") as caught:
        prepare(source, tmp_path / "out", vocab=400, workers=2)
    assert "--resume" in str(caught.value)
    monkeypatch.undo()
    monkeypatch.setattr(prepare_module, "SHARD_BYTES", 20_000)
    prepare(source, tmp_path / "out", vocab=400, resume=True)
    assert content(tmp_path / "out") == content(whole.path)


def kill_a_worker() -> None:
    import multiprocessing

    victim = multiprocessing.active_children()[0]
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)


def after(
    calls: int, event: Callable[[], None], original: Callable[..., object]
) -> Callable[..., object]:
    """`original`, with `event` happening once before the call that follows `calls` of them."""
    done = 0

    def wrapped(*arguments: object, **named: object) -> object:
        nonlocal done
        if done == calls:
            event()
        done += 1
        return original(*arguments, **named)

    return wrapped


UNGUARDED = """
import sys
print("started", flush=True)
import greffe.data.encoding as encoding
import greffe.pipelines.prepare as prepare_module
from greffe.config.option_groups import flat_keywords
from greffe.config.sections import TokenizerSpec
prepare_module.CHUNK_BYTES = encoding.CHUNK_BYTES = 4_000
prepare_module.SHARD_BYTES = int(sys.argv[3])
flat_keywords(prepare_module.prepare)(
    sys.argv[1], sys.argv[2], vocab=400, workers=2, resume=True
)
"""


def start_script(tmp_path: Path, source: Path, out: Path) -> subprocess.Popen[str]:
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    return subprocess.Popen(
        [sys.executable, script, source, out, "20000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.usefixtures("small_shards")
def test_script_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(400))
    process = start_script(tmp_path, source, tmp_path / "out")
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    assert stdout == "started\n"
    prepare(source, tmp_path / "same", vocab=400)
    assert content(tmp_path / "out") == content(tmp_path / "same")


# --- interrupting and resuming --------------------------------------------------------------------


def raise_error() -> None:
    raise RuntimeError("power cut")


def raise_interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize(("shards", "workers"), [(0, 1), (1, 2), (5, 1), (5, 2)])
def test_a_resumed_corpus_is_identical_and_nothing_is_encoded_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: int, workers: int
) -> None:
    lines = make_lines(800)
    source = write_text(tmp_path / "a.txt", [*lines, *lines[:100]])
    prepare(source, tmp_path / "whole", vocab=400, valid=0.05)
    out = tmp_path / "out"

    with monkeypatch.context() as patch:
        close = writing.ShardWriter.close
        patch.setattr(writing.ShardWriter, "close", after(shards, raise_error, close))
        with pytest.raises(RuntimeError, match="power cut"):
            prepare(source, out, vocab=400, valid=0.05, workers=workers)
    with pytest.raises(RunError, match="unfinished"):
        Corpus.open(out)
    assert not list(out.glob(".*.tmp"))
    state = read_json(out / "prepare.json", "the state")
    finished = [shard["name"] for shard in (*state["train"], *state["valid"])]
    assert len(finished) == shards - shards % 2  # a group of a training and a validation shard
    written = {name: (out / f"{name}.tokens").stat().st_mtime_ns for name in finished}

    encoded = 0

    def count(tokenizer: Tokenizer, documents: list[str]) -> encoding.Encoded:
        nonlocal encoded
        encoded += len(documents)
        return original(tokenizer, documents)

    original = encoding.encode_documents
    with monkeypatch.context() as patch:
        patch.setattr(encoding, "encode_documents", count)
        corpus = prepare(source, out, vocab=400, valid=0.05, workers=1, resume=True)
    assert content(out) == content(tmp_path / "whole")
    kept = sum(shard["documents"] for shard in (*state["train"], *state["valid"]))
    assert encoded == corpus.manifest.documents - kept
    for name, moment in written.items():
        assert (out / f"{name}.tokens").stat().st_mtime_ns == moment


@pytest.mark.usefixtures("small_shards")
def test_finished_sources_are_not_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = write_text(tmp_path / "a.txt", make_lines(200))
    b = write_text(tmp_path / "b.txt", make_lines(400, seed=1))
    prepare([a, b], tmp_path / "whole", vocab=400)
    with monkeypatch.context() as patch:
        close = writing.ShardWriter.close
        patch.setattr(writing.ShardWriter, "close", after(4, raise_error, close))
        with pytest.raises(RuntimeError, match="power cut"):
            prepare([a, b], tmp_path / "out", vocab=400, workers=1)
    opened: list[str] = []

    def spy(source: str, options: Reading) -> Iterator[str]:
        opened.append(Path(source).name)
        return read_documents(source, options)

    monkeypatch.setattr(scan, "read_documents", spy)
    prepare([a, b], tmp_path / "out", vocab=400, resume=True)
    assert opened == ["b.txt"]
    assert content(tmp_path / "out") == content(tmp_path / "whole")


@pytest.mark.usefixtures("small_shards")
def test_a_killed_preparation_is_resumed_and_leaves_no_processes(tmp_path: Path) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(3_000))
    out = tmp_path / "out"
    process = start_script(tmp_path, source, out)
    deadline = time.monotonic() + 120
    while len(list(out.glob("train-*.offsets"))) < 3:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    workers = children_of(process.pid)
    process.kill()
    process.communicate()
    state = read_json(out / "prepare.json", "the state")
    assert state["groups"] >= 2 and not (out / "corpus.json").exists()
    moments = {s["name"]: (out / f"{s['name']}.tokens").stat().st_mtime_ns for s in state["train"]}
    prepare(source, out, vocab=400, resume=True)
    prepare(source, tmp_path / "whole", vocab=400)
    assert content(out) == content(tmp_path / "whole")
    for name, moment in moments.items():
        assert (out / f"{name}.tokens").stat().st_mtime_ns == moment
    assert len(workers) >= 2
    assert not [pid for pid in workers if is_running(pid)]


def children_of(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if f"\nPPid:\t{parent}\n" in status.read_text():
                found.append(int(status.parent.name))
        except OSError:  # ended meanwhile
            continue
    return found


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize(
    ("owner", "phase", "calls"),
    [
        (prepare_module, "scan_documents", 0),
        (prepare_module, "train_tokenizer", 0),
        (writing.ShardWriter, "close", 3),
    ],
)
def test_an_interrupted_phase_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, phase: str, calls: int
) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(500))
    with monkeypatch.context() as patch:
        patch.setattr(owner, phase, after(calls, raise_interrupt, getattr(owner, phase)))
        with pytest.raises(InterruptedRunError, match="Stopped") as caught:
            prepare(source, tmp_path / "out", vocab=400)
    assert "--resume" in str(caught.value)
    prepare(source, tmp_path / "out", vocab=400, resume=True)
    prepare(source, tmp_path / "whole", vocab=400)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_preparation_killed_before_it_had_begun_is_resumed(tmp_path: Path) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(50))
    out = tmp_path / "out"
    out.mkdir()
    (out / ".greffe").touch()
    (out / f".prepare.json.{2**31 - 1}.tmp").write_text("{")
    prepare(source, out, vocab=400, resume=True)
    prepare(source, tmp_path / "whole", vocab=400)
    assert content(out) == content(tmp_path / "whole")


def test_what_is_left_of_an_earlier_scan_is_removed_or_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(50))
    out = tmp_path / "out"

    unlink = os.unlink

    def unlink_others(path: str | Path, **more: Any) -> None:
        if Path(path).name.startswith("bucket-"):
            raise OSError(5, "Input/output error")
        unlink(path, **more)

    with monkeypatch.context() as patch:
        patch.setattr(scan, "_disk_array", lambda *_: raise_interrupt())  # the hashes are written
        with pytest.raises(InterruptedRunError):
            prepare(source, out, vocab=400)
        patch.setattr(os, "unlink", unlink_others)
        with pytest.raises(RunError, match="scan"):
            prepare(source, out, vocab=400, resume=True)
    assert prepare(source, out, vocab=400, resume=True).manifest.documents == 50


@pytest.fixture
def unfinished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_shards: None) -> Path:
    write_text(tmp_path / "a.txt", make_lines(300))
    with monkeypatch.context() as patch:
        close = writing.ShardWriter.close
        patch.setattr(writing.ShardWriter, "close", after(2, raise_interrupt, close))
        with pytest.raises(InterruptedRunError):
            prepare(tmp_path / "a.txt", tmp_path / "out", vocab=400)
    return tmp_path / "out"


def test_resume_with_other_options_says_which(unfinished: Path) -> None:
    source = unfinished.parent / "a.txt"
    with pytest.raises(MismatchError) as caught:
        prepare(source, unfinished, vocab=500, valid=0.5, resume=True)
    message = str(caught.value)
    assert "valid was 0.01, is 0.5" in message and "400" in message and "500" in message
    assert "--overwrite" in message and "seed" not in message


def test_resume_with_a_changed_source_says_which(unfinished: Path) -> None:
    source = write_text(unfinished.parent / "a.txt", make_lines(301))
    with pytest.raises(MismatchError, match=r"a\.txt"):
        prepare(source, unfinished, vocab=400, resume=True)
    corpus = prepare(source, unfinished, vocab=400, overwrite=True)
    assert corpus.manifest.documents == 301


def test_resume_with_sources_in_another_order(tmp_path: Path) -> None:
    a = write_text(tmp_path / "a.txt", make_lines(20))
    b = write_text(tmp_path / "b.txt", make_lines(20, seed=1))
    prepare([a, b], tmp_path / "out", vocab=400)
    with pytest.raises(MismatchError, match="order"):
        prepare([b, a], tmp_path / "out", vocab=400, resume=True)


@pytest.mark.parametrize(
    ("name", "damaged"),
    [("train-00000.tokens", b"1"), ("prepare.json", b'{"version": 1}'), ("scan/assignments", b"")],
)
def test_resume_with_a_damaged_file_names_it(unfinished: Path, name: str, damaged: bytes) -> None:
    (unfinished / name).write_bytes(damaged)
    with pytest.raises(CorruptError, match=name):
        prepare(unfinished.parent / "a.txt", unfinished, vocab=400, resume=True)


def test_resume_with_another_tokenizer_file(unfinished: Path) -> None:
    before = Tokenizer.load(unfinished / "tokenizer.json").fingerprint
    other = train_tokenizer(["autre chose"], TokenizerSpec(vocab=350))
    other.save(unfinished / "tokenizer.json")
    with pytest.raises(MismatchError) as caught:
        prepare(unfinished.parent / "a.txt", unfinished, vocab=400, resume=True)
    assert before in str(caught.value) and other.fingerprint in str(caught.value)


def test_resume_of_a_finished_corpus_does_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(50))
    prepare(source, tmp_path / "out", vocab=400)
    before = (tmp_path / "out" / "corpus.json").stat().st_mtime_ns
    prepare(source, tmp_path / "out", vocab=400, resume=True)
    assert (tmp_path / "out" / "corpus.json").stat().st_mtime_ns == before
    assert "already finished" in capsys.readouterr().err


def test_a_source_that_changes_between_the_passes_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(50))

    def shrink() -> None:
        write_text(source, make_lines(49))

    monkeypatch.setattr(prepare_module, "write_shards", after(0, shrink, encoding.write_shards))
    with pytest.raises(DataError, match="changed while") as caught:
        prepare(source, tmp_path / "out", vocab=400)
    assert "50 documents" in str(caught.value) and "49" in str(caught.value)


# --- refusals -----------------------------------------------------------------------------------


def test_existing_corpus_is_refused_or_overwritten(tmp_path: Path) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(50))
    prepare(source, tmp_path / "out", vocab=400)
    with pytest.raises(RunExistsError, match="--overwrite"):
        prepare(source, tmp_path / "out", vocab=400)
    corpus = prepare(source, tmp_path / "out", vocab=400, valid=0.5, overwrite=True)
    assert corpus.valid.documents == 25


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"\n  \n\t\n", "no document"),
        ("a.txt", "déjà\n".encode("latin-1") * 3, "UTF-8"),
        ("a.jsonl", b'{"text": "fine"}\n{"text": "broken \\ud83d"}\n', "surrogate"),
    ],
)
def test_unusable_text_leaves_no_folder(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=message):
        prepare(tmp_path / name, tmp_path / "out", vocab=400)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"valid": -0.1}, "fraction"),
        ({"valid": 1.0}, "fraction"),
        ({"workers": -1}, "workers"),
        ({"dictionary": "dict.txt"}, "SentencePiece"),
    ],
)
def test_values_out_of_range(tmp_path: Path, choice: dict[str, Any], message: str) -> None:
    source = write_text(tmp_path / "a.txt", make_lines(5))
    with pytest.raises(RecipeError, match=message):
        prepare(source, tmp_path / "out", **choice)

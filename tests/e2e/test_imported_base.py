"""A base from elsewhere through every verb, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tests.conftest import Command
from tests.e2e.test_resume import interrupt_after

from greffe.pipelines.sources import open_base
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.storage import file_hash
from greffe.training.checkpoint import load_tokenizer, run_weights

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "labels.tsv"
    rows = (f"{label}\t{text}\n" for label, text in toy_reviews(60, seed=1))
    path.write_text("".join(rows), "utf-8")
    return path


@pytest.fixture
def run(command: Command, tiny_bert: Path, tmp_path: Path) -> Path:
    """The imported run."""
    outcome = command("import", str(tiny_bert), "--out", str(tmp_path / "base"))
    assert outcome.code == 0, outcome.err
    assert "fine-tuning defaults" in outcome.err
    return tmp_path / "base"


def _do(command: Command, *words: object) -> str:
    outcome = command(*map(str, words))
    assert outcome.code == 0, outcome.err
    return str(outcome.out)


def test_import_show_fill_finetune_predict(
    command: Command, run: Path, table: Path, tmp_path: Path
) -> None:
    assert "as published" in _do(command, "show", run)
    shown = json.loads(_do(command, "show", run, "--json"))
    published = shown["published"]
    assert published["closed"] == published["counted"]
    assert published["folded"] == {"token types": 48}
    assert "Ce livre est" in _do(command, "fill", run, "Ce livre est <mask>.")
    out = tmp_path / "clf"
    _do(command, "finetune", "--from", run, "--data", table, "--out", out, "--budget", "1epochs")
    assert RunDirectory(out).manifest().lineage.parent == str(run)
    shown = _do(command, "predict", out, "Ce livre est long. " * 30)  # longer than the positions
    assert "positif" in shown and "négatif" in shown


def test_a_shorter_context_and_one_that_is_too_long(
    command: Command, run: Path, table: Path, tmp_path: Path
) -> None:
    words = ("finetune", "--from", run, "--data", table, "--budget", "1epochs")
    _do(command, *words, "--out", tmp_path / "short", "--set", "model.context=16")
    assert len(run_weights(RunDirectory(tmp_path / "short"))[0]["base.position.weight"]) == 16
    refused = command(
        *map(str, words), "--out", str(tmp_path / "long"), "--set", "model.context=64"
    )
    assert refused.code == 3
    assert "learned positions" in refused.err and "32 or less" in refused.err
    assert not (tmp_path / "long").exists()


def test_compare_takes_sources(
    command: Command, run: Path, tiny_bert: Path, table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "study"
    _do(
        command,
        *("compare", tiny_bert, "--arm", f"run={run}", "--data", table, "--out", out),
        *("--seeds", 2, "--budget", "1epochs", "--set", "model.context=16"),
    )
    document = json.loads((out / "report.json").read_text("utf-8"))
    names = {arm["name"] for arm in document["arms"]}
    assert {"pretrained", "run", "scratch", "tfidf"} <= names
    proof = document["proof"]
    assert set(proof["initial_hashes"]["pretrained"]) == {proof["base_hash"]}
    assert set(proof["initial_hashes"]["run"]) == {proof["base_hash"]}
    assert proof["base_hash"] not in proof["initial_hashes"]["scratch"]
    assert "imports" not in (out / "report.json").read_text("utf-8")  # no path of the cache


def test_continued_pretraining(
    command: Command, tiny_bert: Path, tiny_texts: list[str], tmp_path: Path
) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(tiny_texts), "utf-8")
    out = tmp_path / "more"
    outcome = command(
        *("pretrain", str(tmp_path / "texts.txt"), "--from", str(tiny_bert)),
        *("--budget", "4steps", "--out", str(out)),
    )
    assert outcome.code == 0, outcome.err
    assert "head masked_token (5 tensors)" in outcome.err  # it came along
    manifest = RunDirectory(out).manifest()
    assert manifest.lineage.parent == str(tiny_bert)
    assert set(manifest.heads) == {"masked_token"}


def test_a_vocabulary_of_the_users_own_text(
    command: Command, tiny_bert: Path, tiny_texts: list[str], tmp_path: Path
) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(tiny_texts), "utf-8")
    out = tmp_path / "own"
    outcome = command(
        *("pretrain", str(tmp_path / "texts.txt"), "--from", str(tiny_bert), "--new-vocab", "320"),
        *("--budget", "2steps", "--set", "train.lr=1e-30", "--out", str(out)),
    )
    assert outcome.code == 0, outcome.err
    assert "the weights go from" in outcome.err
    before, after = (run_weights(open_base(path))[0] for path in (tiny_bert, out))
    name = "base.blocks.0.attention.qkv.weight"
    assert torch.equal(before[name], after[name])
    old, new = load_tokenizer(open_base(tiny_bert)), load_tokenizer(RunDirectory(out))
    assert len(after["base.embedding.weight"]) == new.size
    # The special tokens keep their vectors, whatever they are called.
    for role in ("sos", "eos", "pad", "mask"):
        rows = [
            weights["base.embedding.weight"][getattr(tokenizer, role)]
            for weights, tokenizer in ((before, old), (after, new))
        ]
        torch.testing.assert_close(*rows)


def test_a_resumed_fine_tuning_is_exact(
    command: Command,
    tiny_bert: Path,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["finetune", "--from", str(tiny_bert), "--data", str(table), "--budget", "8steps"]
    words += ["--set", "train.checkpoint_every=2steps", "--set", "train.threads=1", "--resume"]
    _do(command, *words, "--out", tmp_path / "whole")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 5)
        assert command(*words, "--out", str(tmp_path / "parts")).code == 130
    _do(command, *words, "--out", tmp_path / "parts")
    whole, parts = (tmp_path / name / "weights.safetensors" for name in ("whole", "parts"))
    assert file_hash(whole) == file_hash(parts)

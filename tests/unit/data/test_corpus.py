from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.builders import write_shard

from greffe.config.sections import TokenizerSpec
from greffe.data.corpus import (
    CORPUS_FILE,
    PREPARE_FILE,
    Corpus,
    CorpusRequest,
    make_manifest,
    write_manifest,
)
from greffe.data.native_tokenizer import train_tokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, MismatchError, RunError
from greffe.storage import read_json, write_json


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["un livre magnifique", "a fine book"], TokenizerSpec(vocab=400))


@pytest.fixture
def folder(tmp_path: Path, tokenizer: Tokenizer) -> Path:
    tokenizer.save(tmp_path / "tokenizer.json")
    train = [
        write_shard(tmp_path, "train-00000", [[0, 5, 6, 2], [0, 7, 2]]),
        write_shard(tmp_path, "train-00001", [[0, 8, 2]]),
    ]
    valid = [write_shard(tmp_path, "valid-00000", [[0, 9, 2]])]
    request = CorpusRequest(
        sources=[{"name": "a.txt", "size": 7}],
        options={},
        valid=0.1,
        seed=0,
        tokenizer="bpe",
        shard_bytes=100,
    )
    write_manifest(tmp_path, make_manifest(train, valid, tokenizer, request, duplicates=3))
    return tmp_path


def test_open(folder: Path, tokenizer: Tokenizer) -> None:
    corpus = Corpus.open(folder)
    assert (corpus.train.tokens, corpus.valid.tokens, corpus.manifest.tokens) == (10, 3, 13)
    assert (corpus.manifest.documents, corpus.manifest.duplicates) == (4, 3)
    assert corpus.tokenizer.fingerprint == tokenizer.fingerprint == corpus.manifest.fingerprint
    assert corpus.train.pad == tokenizer.pad
    corpus.verify()


def test_data_hash_follows_the_data(folder: Path, tokenizer: Tokenizer) -> None:
    manifest = Corpus.open(folder).manifest
    other = write_shard(folder, "valid-00000", [[0, 10, 2]])
    changed = make_manifest(manifest.train, [other], tokenizer, manifest.request, 3)
    assert changed.data_hash != manifest.data_hash
    same = make_manifest(manifest.train, manifest.valid, tokenizer, manifest.request, 3)
    assert same.data_hash == manifest.data_hash


@pytest.mark.parametrize("name", ["train-00001.tokens", "train-00000.offsets"])
def test_truncated_shard(folder: Path, name: str) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(CorruptError) as caught:
        Corpus.open(folder)
    assert name in str(caught.value) and "truncated" in str(caught.value)
    assert f"{path.stat().st_size + 2} bytes" in str(caught.value)


def test_missing_shard(folder: Path) -> None:
    (folder / "valid-00000.tokens").unlink()
    with pytest.raises(CorruptError, match=r"valid-00000\.tokens is missing"):
        Corpus.open(folder)


def test_offsets_that_end_elsewhere(folder: Path) -> None:
    np.array([0, 4, 6], "<i8").tofile(folder / "train-00000.offsets")
    with pytest.raises(CorruptError, match="offsets from 0 to 6"):
        Corpus.open(folder)


def test_silent_damage_is_found_by_verify(folder: Path) -> None:
    np.array([0, 5, 7, 2, 0, 7, 2], "<u2").tofile(folder / "train-00000.tokens")
    corpus = Corpus.open(folder)
    with pytest.raises(CorruptError, match=r"train-00000\.tokens is damaged"):
        corpus.verify()


def test_damaged_manifest(folder: Path) -> None:
    path = folder / CORPUS_FILE
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(CorruptError, match=r"corpus\.json is damaged"):
        Corpus.open(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("documents", 5),
        ("documents", -4),
        ("duplicates", -1),
        ("bytes", 10**30),
        ("dtype", "uint32"),
        ("dtype", "float32"),
        ("train", []),
        ("train", None),
        ("data_hash", "0"),
        ("fingerprint", 1),
        ("request", {}),
    ],
)
def test_a_manifest_that_contradicts_its_files(folder: Path, name: str, value: object) -> None:
    content = read_json(folder / CORPUS_FILE, "a manifest")
    write_json(folder / CORPUS_FILE, content | {name: value})
    with pytest.raises(CorruptError, match=r"corpus\.json is damaged"):
        Corpus.open(folder)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/b", "a\\b", "", "x\n", "x\0"])
def test_the_name_of_a_shard_is_no_path(folder: Path, name: str) -> None:
    content = read_json(folder / CORPUS_FILE, "a manifest")
    content["train"][0]["name"] = name
    write_json(folder / CORPUS_FILE, content)
    with pytest.raises(CorruptError, match=r"corpus\.json is damaged") as caught:
        Corpus.open(folder)
    assert "train.0.name" in (caught.value.found or "")


def test_an_id_outside_the_vocabulary(folder: Path, tokenizer: Tokenizer) -> None:
    path = folder / "train-00000.tokens"
    ids = np.fromfile(path, np.uint16)
    ids[1] = tokenizer.size
    path.write_bytes(ids.tobytes())
    split = Corpus.open(folder).train
    for read in (
        lambda: split.document(0),
        lambda: split.span(0, 3),
        lambda: split.rows(np.array([0]), 4),
    ):
        with pytest.raises(CorruptError, match=r"train-00000\.tokens is damaged"):
            read()
    assert split.document(2).tolist() == [0, 8, 2]


def test_offsets_that_go_back(folder: Path) -> None:
    path = folder / "train-00000.offsets"
    path.write_bytes(np.array([0, 9, 7], np.int64).tobytes())
    with pytest.raises(CorruptError, match=r"train-00000\.offsets is damaged"):
        Corpus.open(folder).train.document(0)


def test_a_shard_that_vanishes_later(folder: Path) -> None:
    split = Corpus.open(folder).train
    (folder / "train-00000.tokens").unlink()
    with pytest.raises(CorruptError, match="missing"):
        split.document(0)


def test_manifest_of_another_version(folder: Path) -> None:
    content = read_json(folder / CORPUS_FILE, "a manifest")
    write_json(folder / CORPUS_FILE, {**content, "version": 2})
    with pytest.raises(CorruptError, match="version"):
        Corpus.open(folder)


def test_other_tokenizer_names_both(folder: Path, tokenizer: Tokenizer) -> None:
    other = train_tokenizer(["quelque chose d'autre"], TokenizerSpec(vocab=350))
    other.save(folder / "tokenizer.json")
    with pytest.raises(MismatchError) as caught:
        Corpus.open(folder)
    assert tokenizer.fingerprint in str(caught.value) and other.fingerprint in str(caught.value)


def test_missing_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(CorruptError, match=r"tokenizer\.json"):
        Corpus.open(folder)


def test_not_a_corpus(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a corpus"):
        Corpus.open(tmp_path / "nowhere")
    (tmp_path / PREPARE_FILE).write_text("{}")
    with pytest.raises(RunError, match="--resume"):
        Corpus.open(tmp_path)

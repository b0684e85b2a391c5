from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from greffe.config.sections import TokenizerSpec
from greffe.data import shards as shards_module
from greffe.data.corpus import (
    CORPUS_FILE,
    PREPARE_FILE,
    Corpus,
    CorpusRequest,
    make_manifest,
    write_manifest,
)
from greffe.data.shard_writer import ShardWriter
from greffe.data.shards import ShardInfo, TokenSplit, check_shard
from greffe.data.tokenizer import Tokenizer, train_tokenizer
from greffe.errors import CorruptError, MismatchError, RunError
from greffe.storage import read_json, write_json

PAD = 99


def write_shard(
    folder: Path, name: str, documents: list[list[int]], dtype: str = "uint16"
) -> ShardInfo:
    writer = ShardWriter(folder, name, dtype)
    for ids in documents:
        writer.add(np.array(ids, dtype), np.array([len(ids)]), text_bytes=len(ids))
    return writer.close()


def make_part(folder: Path, *shards: list[list[int]]) -> TokenSplit:
    infos = [write_shard(folder, f"train-{i:05}", docs) for i, docs in enumerate(shards)]
    return TokenSplit(folder, infos, "uint16", PAD)


# --- writing ------------------------------------------------------------------------------------


def test_files_are_raw_little_endian(tmp_path: Path) -> None:
    info = write_shard(tmp_path, "train-00000", [[1, 2], [3, 4, 500]])
    assert (info.tokens, info.documents, info.bytes) == (5, 2, 5)
    assert np.fromfile(tmp_path / "train-00000.tokens", "<u2").tolist() == [1, 2, 3, 4, 500]
    assert np.fromfile(tmp_path / "train-00000.offsets", "<i8").tolist() == [0, 2, 5]


def test_wide_tokens(tmp_path: Path) -> None:
    info = write_shard(tmp_path, "train-00000", [[70_000, 1]], "uint32")
    assert TokenSplit(tmp_path, [info], "uint32", PAD).document(0).tolist() == [70_000, 1]


def test_names_appear_only_at_the_end(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, "train-00000", "uint16")
    writer.add(np.array([1, 2], "uint16"), np.array([2]), 2)
    assert not list(tmp_path.glob("train*"))
    writer.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "train-00000.offsets",
        "train-00000.tokens",
    ]


def test_discard_leaves_nothing(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, "train-00000", "uint16")
    writer.add(np.array([1, 2], "uint16"), np.array([2]), 2)
    writer.discard()
    assert not list(tmp_path.iterdir())


def test_full_disk_is_said_and_leaves_no_shard(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, "train-00000", "uint16")
    writer._tokens._file.close()
    writer._tokens._file = open("/dev/full", "wb")  # noqa: SIM115
    with pytest.raises(RunError, match="disk is full"):
        writer.add(np.zeros(1 << 20, "uint16"), np.array([1 << 20]), 2)
    writer.discard()
    assert not list(tmp_path.iterdir())


# --- rows ---------------------------------------------------------------------------------------


def test_rows_run_across_documents_and_shards(tmp_path: Path) -> None:
    part = make_part(tmp_path, [[1, 2, 3], [4, 5]], [[6, 7], [8, 9, 10, 11]])
    assert (part.tokens, part.documents, part.bytes) == (11, 4, 11)
    assert part.rows_total(4) == 3
    rows = part.rows(np.array([0, 1, 2]), 4)
    assert rows.ids.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, PAD]]
    assert rows.lengths.tolist() == [4, 4, 3]
    assert rows.documents.tolist() == [[0, 0, 0, 1], [0, 1, 1, 2], [0, 0, 0, 1]]
    assert rows.positions.tolist() == [[0, 1, 2, 0], [0, 0, 1, 0], [0, 1, 2, 0]]
    assert rows.first_document.tolist() == [0, 1, 3]
    assert {a.dtype for a in (rows.ids, rows.lengths, rows.documents, rows.positions)} == {
        np.dtype(np.int64)
    }


def test_rows_in_any_order(tmp_path: Path) -> None:
    part = make_part(tmp_path, [[1, 2, 3], [4, 5]], [[6, 7]])
    assert part.rows(np.array([3, 0, 3]), 2).ids.tolist() == [[7, PAD], [1, 2], [7, PAD]]
    assert part.row(1, 2).ids.tolist() == [[3, 4]]


def test_row_of_one_shard_boundary_starts_a_document(tmp_path: Path) -> None:
    part = make_part(tmp_path, [[1, 2]], [[3, 4]])
    assert part.row(0, 4).documents.tolist() == [[0, 0, 1, 1]]


def test_row_longer_than_the_part(tmp_path: Path) -> None:
    rows = make_part(tmp_path, [[1, 2]]).row(0, 5)
    assert rows.ids.tolist() == [[1, 2, PAD, PAD, PAD]]
    assert rows.documents.tolist() == [[0, 0, 1, 1, 1]]


def test_empty_part(tmp_path: Path) -> None:
    part = TokenSplit(tmp_path, [], "uint16", PAD)
    assert (part.tokens, part.documents, part.rows_total(8)) == (0, 0, 0)
    assert part.rows(np.array([], np.int64), 8).ids.shape == (0, 8)


def test_documents_by_number(tmp_path: Path) -> None:
    part = make_part(tmp_path, [[1, 2, 3], [4, 5]], [[6, 7]])
    assert [part.document(i).tolist() for i in range(3)] == [[1, 2, 3], [4, 5], [6, 7]]


def test_spans_run_across_documents_and_shards(tmp_path: Path) -> None:
    part = make_part(tmp_path, [[1, 2, 3], [4, 5]], [[6, 7], [8]])
    ids, documents = part.span(1, 8)
    assert ids.tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert documents.tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert [array.tolist() for array in part.span(3, 5)] == [[4, 5], [0, 0]]
    assert [array.tolist() for array in part.span(8, 8)] == [[], []]
    for begin, end in ((-1, 2), (3, 2), (0, 9)):
        with pytest.raises(IndexError):
            part.span(begin, end)


@pytest.mark.parametrize("index", [-1, 3])
def test_outside_is_an_error(tmp_path: Path, index: int) -> None:
    part = make_part(tmp_path, [[1, 2, 3], [4, 5]], [[6]])
    with pytest.raises(IndexError):
        part.row(index, 2)
    with pytest.raises(IndexError):
        part.document(index)
    with pytest.raises(ValueError, match="at least one"):
        part.row(0, 0)


def test_mapped_memory_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    infos = []
    for name in ("train-00000", "train-00001", "train-00002", "train-00003"):
        writer = ShardWriter(tmp_path, name, "uint16")
        for _ in range(8):
            writer.add(np.ones(1 << 20, "uint16"), np.full(1 << 10, 1 << 10), 0)
        infos.append(writer.close())
    part = TokenSplit(tmp_path, infos, "uint16", PAD)

    def peak() -> int:
        before = mapped_bytes()
        return max(read_row(index) for index in range(part.rows_total(1 << 16))) - before

    def read_row(index: int) -> int:
        part.row(index, 1 << 16)
        return mapped_bytes()

    monkeypatch.setattr(shards_module, "RESIDENT_BYTES", 8 << 20)
    assert peak() < 16 << 20
    monkeypatch.setattr(shards_module, "RESIDENT_BYTES", 1 << 40)
    assert peak() > 40 << 20  # what would stay without giving back


def mapped_bytes() -> int:
    """Resident pages of mapped files."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("RssFile"))
    return int(line.split()[1]) << 10


# --- corpora ------------------------------------------------------------------------------------


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


def test_check_shard_accepts_what_was_written(tmp_path: Path) -> None:
    info = write_shard(tmp_path, "train-00000", [[1, 2]])
    check_shard(tmp_path, info, "uint16")
    with pytest.raises(CorruptError):
        check_shard(tmp_path, info, "uint32")

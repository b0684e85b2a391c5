from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.builders import write_shard

from greffe.data import shards as shards_module
from greffe.data.shard_writer import ShardWriter
from greffe.data.shards import TokenSplit, check_shard
from greffe.errors import CorruptError

PAD = 99


def make_split(folder: Path, *shards: list[list[int]]) -> TokenSplit:
    infos = [write_shard(folder, f"train-{i:05}", docs) for i, docs in enumerate(shards)]
    return TokenSplit(folder, infos, "uint16", pad=PAD, vocab=1 << 16)


def test_rows_run_across_documents_and_shards(tmp_path: Path) -> None:
    split = make_split(tmp_path, [[1, 2, 3], [4, 5]], [[6, 7], [8, 9, 10, 11]])
    assert (split.tokens, split.documents, split.bytes) == (11, 4, 11)
    assert split.rows_total(4) == 3
    rows = split.rows(np.array([0, 1, 2]), 4)
    assert rows.ids.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, PAD]]
    assert rows.lengths.tolist() == [4, 4, 3]
    assert rows.documents.tolist() == [[0, 0, 0, 1], [0, 1, 1, 2], [0, 0, 0, 1]]
    assert rows.positions.tolist() == [[0, 1, 2, 0], [0, 0, 1, 0], [0, 1, 2, 0]]
    assert rows.first_document.tolist() == [0, 1, 3]
    assert {a.dtype for a in (rows.ids, rows.lengths, rows.documents, rows.positions)} == {
        np.dtype(np.int64)
    }


def test_rows_in_any_order(tmp_path: Path) -> None:
    split = make_split(tmp_path, [[1, 2, 3], [4, 5]], [[6, 7]])
    assert split.rows(np.array([3, 0, 3]), 2).ids.tolist() == [[7, PAD], [1, 2], [7, PAD]]
    assert split.rows(np.array([1]), 2).ids.tolist() == [[3, 4]]


def test_row_of_one_shard_boundary_starts_a_document(tmp_path: Path) -> None:
    split = make_split(tmp_path, [[1, 2]], [[3, 4]])
    assert split.rows(np.array([0]), 4).documents.tolist() == [[0, 0, 1, 1]]


def test_row_longer_than_the_split(tmp_path: Path) -> None:
    rows = make_split(tmp_path, [[1, 2]]).rows(np.array([0]), 5)
    assert rows.ids.tolist() == [[1, 2, PAD, PAD, PAD]]
    assert rows.documents.tolist() == [[0, 0, 1, 1, 1]]


def test_empty_split(tmp_path: Path) -> None:
    split = TokenSplit(tmp_path, [], "uint16", pad=PAD, vocab=1 << 16)
    assert (split.tokens, split.documents, split.rows_total(8)) == (0, 0, 0)
    assert split.rows(np.array([], np.int64), 8).ids.shape == (0, 8)


def test_documents_by_number(tmp_path: Path) -> None:
    split = make_split(tmp_path, [[1, 2, 3], [4, 5]], [[6, 7]])
    assert [split.document(i).tolist() for i in range(3)] == [[1, 2, 3], [4, 5], [6, 7]]


def test_spans_run_across_documents_and_shards(tmp_path: Path) -> None:
    split = make_split(tmp_path, [[1, 2, 3], [4, 5]], [[6, 7], [8]])
    ids, documents = split.span(1, 8)
    assert ids.tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert documents.tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert [array.tolist() for array in split.span(3, 5)] == [[4, 5], [0, 0]]
    assert [array.tolist() for array in split.span(8, 8)] == [[], []]
    for begin, end in ((-1, 2), (3, 2), (0, 9)):
        with pytest.raises(IndexError):
            split.span(begin, end)


@pytest.mark.parametrize("index", [-1, 3])
def test_outside_is_an_error(tmp_path: Path, index: int) -> None:
    split = make_split(tmp_path, [[1, 2, 3], [4, 5]], [[6]])
    with pytest.raises(IndexError):
        split.rows(np.array([index]), 2)
    with pytest.raises(IndexError):
        split.document(index)
    with pytest.raises(ValueError, match="at least one"):
        split.rows(np.array([0]), 0)


def test_mapped_memory_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    infos = []
    for name in ("train-00000", "train-00001", "train-00002", "train-00003"):
        writer = ShardWriter(tmp_path, name, "uint16")
        for _ in range(8):
            writer.add(np.ones(1 << 20, "uint16"), np.full(1 << 10, 1 << 10), 0)
        infos.append(writer.close())
    split = TokenSplit(tmp_path, infos, "uint16", pad=PAD, vocab=1 << 16)

    def peak() -> int:
        before = mapped_bytes()
        return max(read_row(index) for index in range(split.rows_total(1 << 16))) - before

    def read_row(index: int) -> int:
        split.rows(np.array([index]), 1 << 16)
        return mapped_bytes()

    monkeypatch.setattr(shards_module, "RESIDENT_BYTES", 8 << 20)
    assert peak() < 16 << 20
    monkeypatch.setattr(shards_module, "RESIDENT_BYTES", 1 << 40)
    assert peak() > 40 << 20  # what would stay otherwise


def mapped_bytes() -> int:
    """Resident pages of mapped files."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("RssFile"))
    return int(line.split()[1]) << 10


def test_check_shard_accepts_what_was_written(tmp_path: Path) -> None:
    info = write_shard(tmp_path, "train-00000", [[1, 2]])
    check_shard(tmp_path, info, "uint16")
    with pytest.raises(CorruptError):
        check_shard(tmp_path, info, "uint32")

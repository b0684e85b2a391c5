from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.builders import write_shard

from greffe.data.shard_writer import ShardWriter
from greffe.data.shards import TokenSplit
from greffe.errors import RunError

PAD = 99


def test_files_are_raw_little_endian(tmp_path: Path) -> None:
    info = write_shard(tmp_path, "train-00000", [[1, 2], [3, 4, 500]])
    assert (info.tokens, info.documents, info.bytes) == (5, 2, 5)
    assert np.fromfile(tmp_path / "train-00000.tokens", "<u2").tolist() == [1, 2, 3, 4, 500]
    assert np.fromfile(tmp_path / "train-00000.offsets", "<i8").tolist() == [0, 2, 5]


def test_wide_tokens(tmp_path: Path) -> None:
    info = write_shard(tmp_path, "train-00000", [[70_000, 1]], "uint32")
    assert TokenSplit(tmp_path, [info], "uint32", pad=PAD, vocab=1 << 17).document(0).tolist() == [
        70_000,
        1,
    ]


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


def test_a_full_disk_is_an_error_and_leaves_no_shard(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path, "train-00000", "uint16")
    writer._tokens._file.close()
    writer._tokens._file = open("/dev/full", "wb")  # noqa: SIM115
    with pytest.raises(RunError, match="disk is full"):
        writer.add(np.zeros(1 << 20, "uint16"), np.array([1 << 20]), 2)
    writer.discard()
    assert not list(tmp_path.iterdir())

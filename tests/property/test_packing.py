"""Packing loses no token and invents none, whatever the documents, shards and row lengths are."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.data.encoding import CHUNK_BYTES, cut_chunks
from greffe.data.scan import Assignment
from greffe.data.shard_writer import ShardWriter
from greffe.data.shards import PackedRows, ShardInfo, TokenSplit

PAD = 65_535
documents = st.lists(st.integers(0, 50_000), min_size=2, max_size=30)
shards = st.lists(st.lists(documents, min_size=1, max_size=8), max_size=5)


def pack(
    folder: Path, content: list[list[list[int]]], length: int
) -> tuple[TokenSplit, PackedRows]:
    infos: list[ShardInfo] = []
    for number, shard in enumerate(content):
        writer = ShardWriter(folder, f"train-{number:05}", "uint16")
        tokens = np.array([token for document in shard for token in document], "uint16")
        writer.add(tokens, np.array([len(document) for document in shard]), len(tokens))
        infos.append(writer.close())
    part = TokenSplit(folder, infos, "uint16", pad=PAD, vocab=1 << 16)
    return part, part.rows(np.arange(part.rows_total(length)), length)


@settings(deadline=None, max_examples=50)
@given(shards, st.integers(1, 40))
def test_rows_hold_every_token_once_and_in_order(
    content: list[list[list[int]]], length: int
) -> None:
    flat = [token for shard in content for document in shard for token in document]
    with tempfile.TemporaryDirectory() as folder:
        part, rows = pack(Path(folder), content, length)
        assert part.tokens == len(flat)
        kept = np.arange(length) < rows.lengths[:, None]  # [B, T] no padding
        assert rows.ids[kept].tolist() == flat
        assert (rows.ids[~kept] == PAD).all()
        assert (rows.lengths[:-1] == length).all()


@settings(deadline=None, max_examples=50)
@given(shards, st.integers(1, 40))
def test_documents_and_positions_follow_the_documents(
    content: list[list[list[int]]], length: int
) -> None:
    owners = [
        (number, position)
        for number, document in enumerate(document for shard in content for document in shard)
        for position in range(len(document))
    ]
    with tempfile.TemporaryDirectory() as folder:
        _, rows = pack(Path(folder), content, length)
        for row in range(len(rows.ids)):
            mine = owners[row * length : (row + 1) * length]
            first = mine[0][0]
            begin = mine[0][1]
            expected = [
                (number - first, position - begin if number == first else position)
                for number, position in mine
            ]
            assert rows.first_document[row] == first
            padding = length - len(mine)
            expected += [(mine[-1][0] - first + 1, position) for position in range(padding)]
            found = zip(rows.documents[row].tolist(), rows.positions[row].tolist(), strict=True)
            assert list(found) == expected


@settings(deadline=None, max_examples=50)
@given(shards)
def test_documents_come_back_by_number(content: list[list[list[int]]]) -> None:
    flat = [document for shard in content for document in shard]
    with tempfile.TemporaryDirectory() as folder:
        part, _ = pack(Path(folder), content, 8)
        assert [part.document(number).tolist() for number in range(part.documents)] == flat


texts = st.lists(
    st.tuples(st.text(min_size=1, max_size=20), st.sampled_from([f.value for f in Assignment])),
    max_size=40,
)


@settings(deadline=None, max_examples=50)
@given(texts, st.integers(1, 200), st.integers(0, 1000))
def test_chunks_lose_no_document(
    assigned: list[tuple[str, int]], shard_bytes: int, start: int
) -> None:
    chunks = list(cut_chunks(iter(assigned), start, shard_bytes))
    for assignment, part in ((Assignment.TRAIN, "train"), (Assignment.VALID, "valid")):
        cut = [text for chunk in chunks for text in getattr(chunk, part)]
        assert cut == [text for text, value in assigned if value == assignment]
    assert chunks[-1].end == start + len(assigned) and chunks[-1].closes
    assert sum(chunk.read_bytes for chunk in chunks) == sum(len(t.encode()) for t, _ in assigned)


@settings(deadline=None, max_examples=50)
@given(texts, st.integers(1, 100))
def test_groups_are_the_same_when_begun_at_any_border(
    assigned: list[tuple[str, int]], shard_bytes: int
) -> None:
    assert CHUNK_BYTES > 40 * 20 * 4  # every chunk of this test is a whole group
    whole = list(cut_chunks(iter(assigned), 0, shard_bytes))
    for position, chunk in enumerate(whole[:-1]):
        assert (
            list(cut_chunks(iter(assigned[chunk.end :]), chunk.end, shard_bytes))
            == whole[position + 1 :]
        )

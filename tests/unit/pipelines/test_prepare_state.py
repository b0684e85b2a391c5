"""The state of an unfinished corpus: written, read, and compared with a new request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from greffe.data.corpus import CorpusRequest
from greffe.data.scan import Scan, SourceCount
from greffe.data.shards import ShardInfo
from greffe.errors import CorruptError, MismatchError
from greffe.pipelines.prepare_state import PrepareState, check_request, read_state, write_state
from greffe.storage import write_json

REQUEST = CorpusRequest(
    sources=[{"name": "a.txt"}, {"name": "b.txt"}],
    options={"documents": "line"},
    valid=0.01,
    seed=0,
    tokenizer="bpe of 400 pieces",
    shard_bytes=1000,
)

SHARD = ShardInfo(
    name="train-00000", tokens=9, documents=5, bytes=80, tokens_sha256="t", offsets_sha256="o"
)
STATE = PrepareState(
    request=REQUEST,
    scan=Scan(
        sources=[SourceCount(documents=5, bytes=60), SourceCount(documents=4, bytes=60)],
        unique=8,
        valid=1,
    ),
    fingerprint="f",
    groups=2,
    documents=7,
    bytes=90,
    train=[SHARD],
)


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_state(STATE, tmp_path)
    assert read_state(tmp_path) == STATE


def test_a_damaged_state_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "prepare.json").write_text('{"version": 9}', "utf-8")
    with pytest.raises(CorruptError, match="another version"):
        read_state(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        {"groups": -1},
        {"groups": 0},
        {"documents": 10},
        {"bytes": 121},
        {"scan": None},
        {"scan": STATE.scan.model_dump() | {"sources": []}},
        {"scan": STATE.scan.model_dump() | {"sources": [{"documents": 9, "bytes": 120}]}},
        {"scan": STATE.scan.model_dump() | {"unique": 10}},
        {"scan": STATE.scan.model_dump() | {"valid": 9}},
        {"fingerprint": None},
        {"train": [SHARD.model_dump() | {"name": "../../elsewhere"}]},
        {"train": [SHARD.model_dump() | {"tokens": 0}]},
        {"train": [SHARD.model_dump() | {"tokens": 10**30}]},
        {"request": REQUEST.model_dump() | {"shard_bytes": 0}},
        {"request": REQUEST.model_dump() | {"valid": 1.5}},
    ],
)
def test_a_state_that_contradicts_itself(damage: dict[str, Any], tmp_path: Path) -> None:
    write_json(tmp_path / "prepare.json", STATE.model_dump(mode="json") | damage)
    with pytest.raises(CorruptError, match="damaged"):
        read_state(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"valid": 0.5}, "valid was 0.01, is 0.5"),
        ({"sources": REQUEST.sources[:1]}, "no longer there: .*b.txt"),
        ({"sources": [*REQUEST.sources, {"name": "c.txt"}]}, "new: .*c.txt"),
        ({"sources": REQUEST.sources[::-1]}, "the order or number of the sources"),
    ],
)
def test_another_request_is_an_error_that_says_what_changed(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    check_request(REQUEST, REQUEST, tmp_path)
    with pytest.raises(MismatchError) as caught:
        check_request(REQUEST, REQUEST.model_copy(update=changes), tmp_path)
    assert caught.value.found is not None
    assert re.search(message, caught.value.found)

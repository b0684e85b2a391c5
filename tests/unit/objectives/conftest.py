"""Packed rows by hand, their random streams, and small models for objectives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec
from greffe.data.shard_writer import ShardWriter
from greffe.data.shards import PackedRows, TokenSplit
from greffe.data.tokenizer import Tokenizer
from greffe.model.model import Model, build_model
from greffe.objectives.objective import RowBatch
from greffe.seeding import rng

Pack = Callable[..., PackedRows]
MakeRows = Callable[..., RowBatch]
MakeModel = Callable[..., Model]


@pytest.fixture
def pack(tiny_tokenizer: Tokenizer, tmp_path: Path) -> Pack:
    """pack([[10, 11], [12]], 8): documents of ordinary ids, as rows of a corpus on disk."""
    made = 0

    def pack_documents(documents: Sequence[Sequence[int]], length: int) -> PackedRows:
        nonlocal made
        made += 1
        sos, eos = tiny_tokenizer.sos, tiny_tokenizer.eos
        wrapped = [[sos, *document, eos] for document in documents]
        writer = ShardWriter(tmp_path, f"train-{made}", "uint16")
        tokens = np.array([token for document in wrapped for token in document], "uint16")
        writer.add(tokens, np.array([len(document) for document in wrapped]), len(tokens))
        part = TokenSplit(
            tmp_path, [writer.close()], "uint16", pad=tiny_tokenizer.pad, vocab=tiny_tokenizer.size
        )
        return part.rows(np.arange(part.rows_total(length)), length)

    return pack_documents


@pytest.fixture
def tiny_rows(pack: Pack, tiny_tokenizer: Tokenizer, tiny_texts: list[str]) -> PackedRows:
    """Two hundred toy reviews in rows of 48 tokens; most rows hold several."""
    return pack([ids.tolist() for ids in tiny_tokenizer.encode_batch(tiny_texts[:200])], 48)


@pytest.fixture
def make_rows() -> MakeRows:
    """make_rows(packed): a batch with running numbers, streams and, on demand, partners."""

    def make(
        packed: PackedRows,
        *,
        which: Sequence[int] | None = None,
        first: int = 0,
        seed: int = 0,
        partners: PackedRows | None = None,
    ) -> RowBatch:
        indices = np.arange(len(packed.ids)) if which is None else np.array(which, dtype=np.int64)
        numbers = indices + first
        return RowBatch(
            packed=take(packed, indices),
            numbers=numbers,
            streams=[rng(seed, "corrupt", int(number)) for number in numbers],
            partners=None if partners is None else take(partners, indices),
        )

    return make


def take(packed: PackedRows, indices: np.ndarray[Any, Any]) -> PackedRows:
    return PackedRows(**{name: values[indices] for name, values in vars(packed).items()})


@pytest.fixture
def make_model(tiny_tokenizer: Tokenizer) -> MakeModel:
    """make_model(objective.heads(), norm="post"): a small model without dropout."""

    def make(heads: Mapping[str, HeadSpec], **choices: Any) -> Model:
        shape = {"width": 16, "layers": 2, "heads": 2, "feed_forward": 32, "context": 64}
        return build_model(ModelSpec(**{**shape, **choices}), tiny_tokenizer.size, heads, seed=1)

    return make

"""Tables of normalized characters: sound ones are accepted, and what is accepted is sound."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Sequence

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import normalizers

from greffe.data.charsmap import check_charsmap

TEXT = "".join(map(chr, (*range(1, 0x600), *range(0xFB00, 0xFB10)))) + "ﬁ été"


def table(units: Sequence[int], replacements: bytes = b"a\0") -> bytes:
    """Return a table of a trie and its replacements."""
    return struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + replacements


def one_key(*, child: int | None = None, value: int = 0, replacements: bytes = b"a\0") -> bytes:
    """Return a table with the key z, whose replacement begins at the byte `value`."""
    units = [0] * 512
    units[0] = 256 << 10  # the root: its children are at 256 ^ byte
    place = 256 ^ ord("z")
    units[place] = ord("z") | 1 << 8 | 0x1FF << 10 if child is None else child
    units[place ^ 0x1FF] = value  # the leaf
    return table(units, replacements)


@pytest.fixture(scope="module")
def trained() -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["un deux trois"] * 20),
        model_writer=model,
        vocab_size=20,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    return bytes(proto.normalizer_spec.precompiled_charsmap)


def test_sound_tables(trained: bytes) -> None:
    check_charsmap(trained)
    check_charsmap(one_key())
    assert normalizers.Precompiled(one_key()).normalize_str("yz") == "ya"


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\xff\xff\xff\x7fabc",
        table([]),
        table([0]),
        table([0xFFFFFFFF, 0]),
        one_key(child=0x7FFFFF00 | ord("z")),
        one_key(value=3),
        one_key(value=1, replacements="é\0".encode()),
    ],
)
def test_damaged_tables(damaged: bytes) -> None:
    with pytest.raises(ValueError):
        check_charsmap(damaged)


def test_what_is_accepted_can_be_searched(trained: bytes) -> None:
    draw = random.Random(0)
    accepted = 0
    for _ in range(60):
        changed = bytearray(trained)
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        try:
            check_charsmap(bytes(changed))
        except ValueError:
            continue
        accepted += 1
        try:
            normalizers.Precompiled(bytes(changed)).normalize_str(TEXT)
        except Exception as error:  # replacements that are not UTF-8; a panic is no Exception
            assert "precompiled" in str(error).lower()
    assert accepted

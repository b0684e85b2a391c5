"""Everything in a tokenizer.json is checked before the library sees it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from greffe.config.sections import TokenizerSpec
from greffe.data.native_tokenizer import NativeTokenizer, train_tokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.data.tokenizer_file import read_tree
from greffe.errors import CorruptError

GONE = object()


@pytest.fixture(scope="module")
def unigram(tiny_texts: list[str]) -> Tokenizer:
    return train_tokenizer(tiny_texts, TokenizerSpec(kind="unigram", vocab=400))


def changed(tokenizer: Tokenizer, path: str, value: object) -> str:
    """Return a tokenizer's JSON with one value replaced or removed."""
    tree = json.loads(tokenizer.__reduce__()[1][0])
    *above, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    inner: Any = tree
    for key in above:
        inner = inner[key]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(tree)


def test_what_was_written_is_read(tiny_tokenizer: Tokenizer, unigram: Tokenizer) -> None:
    for tokenizer in (tiny_tokenizer, tiny_tokenizer.lowercased(), unigram):
        content = tokenizer.__reduce__()[1][0]
        assert read_tree(content) == json.loads(content)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((part, GONE) for part in ("version", "added_tokens", "normalizer", "pre_tokenizer")),
        *((part, GONE) for part in ("decoder", "model", "model.type", "model.vocab")),
        *(
            (part, 3)
            for part in ("normalizer", "pre_tokenizer", "decoder", "model", "added_tokens")
        ),
        ("version", "2.0"),
        ("normalizer.normalizers", None),
        ("normalizer.normalizers.0", {"type": "Strip"}),
        ("normalizer.normalizers.0", {"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="}),
        ("normalizer.normalizers.0", {"type": "Precompiled", "precompiled_charsmap": "é"}),
        ("normalizer.normalizers.1.pattern", "▁"),
        ("normalizer.normalizers.1.content", None),
        ("pre_tokenizer.behavior", "Removed"),
        ("pre_tokenizer.pattern.Regex", "("),
        ("pre_tokenizer.pattern.Regex", "\ud800"),
        ("pre_tokenizer.pattern.Regex", "(a*)*b"),  # exponential time
        ("padding", {"strategy": "BatchLongest"}),
        ("truncation", {"max_length": 2}),
        ("post_processor", {"type": "ByteLevel"}),
        ("added_tokens.0.id", 1),
        ("added_tokens.0.content", "<other>"),
        ("added_tokens.0.special", 1),
        ("model.type", "WordPiece"),
    ],
)
def test_damage_in_any_tokenizer(
    tiny_tokenizer: Tokenizer, unigram: Tokenizer, path: str, value: object
) -> None:
    for tokenizer in (tiny_tokenizer, unigram):
        with pytest.raises(CorruptError) as caught:
            NativeTokenizer(changed(tokenizer, path, value))
        assert caught.value.found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("model.continuing_subword_prefix", "x"),  # the library would end the process
        ("model.end_of_word_suffix", "x"),
        ("model.dropout", 0.5),
        ("model.unk_token", "<none>"),
        ("model.vocab", {}),
        ("model.vocab.<sos>", GONE),
        ("model.vocab.<sos>", -1),
        ("model.vocab.<sos>", 10**12),
        ("model.vocab.<sos>", 1),
        ("model.vocab.<sos>", "0"),
        ("model.merges", GONE),
        ("model.merges", [["no", "such"]]),
        ("model.merges", [["a"]]),
        ("model.merges", "ab"),
    ],
)
def test_damage_in_a_bpe_model(tiny_tokenizer: Tokenizer, path: str, value: object) -> None:
    with pytest.raises(CorruptError) as caught:
        NativeTokenizer(changed(tiny_tokenizer, path, value))
    assert caught.value.found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("model.unk_id", 10**6),
        ("model.unk_id", None),
        ("model.vocab", []),
        ("model.vocab.7", ["a"]),
        ("model.vocab.7", [1.0, "a"]),
        ("model.vocab.7", ["", 1.0]),
        ("model.vocab.7", ["<sos>", 1.0]),
        ("model.vocab.7.1", 10**400),
    ],
)
def test_damage_in_a_unigram_model(unigram: Tokenizer, path: str, value: object) -> None:
    with pytest.raises(CorruptError) as caught:
        NativeTokenizer(changed(unigram, path, value))
    assert caught.value.found


def test_a_vocabulary_without_bytes_still_encodes(tiny_tokenizer: Tokenizer) -> None:
    """The fast path for words relies on byte pieces: without them it is not taken."""
    other = NativeTokenizer(changed(tiny_tokenizer, "model.byte_fallback", False))
    texts = ["un livre ☃ et☃fin", "un film"]
    assert [ids.tolist() for ids in other.encode_batch(texts)] == [other.encode(t) for t in texts]

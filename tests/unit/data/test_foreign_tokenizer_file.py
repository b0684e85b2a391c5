"""Contents that the tokenizers library must not read, or on which it fails."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.data.foreign import KINDS, llama, unigram, wordpiece

from greffe.data.foreign_tokenizer import ForeignTokenizer
from greffe.errors import CorruptError, DataError, GreffeError

MADE = {name: json.loads(make().to_str()) for name, make in KINDS.items()}
ROLES = {"wordpiece": "[CLS]", "llama": "<s>", "unigram": "<s>"}


def changed(kind: str, path: str, value: object) -> str:
    tree = json.loads(json.dumps(MADE[kind]))
    *folders, last = path.split(".")
    part: Any = tree
    for name in folders:
        part = part[int(name) if isinstance(part, list) else name]
    part[last] = value
    return json.dumps({"greffe": {"roles": {"cls": ROLES[kind]}, "vocab": 600}, **tree})


BAD_CHARACTERS = {"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="}


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("wordpiece", "model", None),
        ("wordpiece", "model", {}),
        ("wordpiece", "model.type", "Other"),
        ("wordpiece", "model.type", ["WordPiece"]),
        ("wordpiece", "model.vocab", []),
        ("wordpiece", "model.vocab", {}),
        ("wordpiece", "model.vocab", {"[CLS]": 0, "[UNK]": "1"}),
        ("wordpiece", "model.vocab", {"[CLS]": 0, "[UNK]": True}),
        ("wordpiece", "model.vocab", {"[CLS]": 0, "[UNK]": -1}),
        ("wordpiece", "model.vocab", {"[CLS]": 0, "[UNK]": 2**40}),
        ("wordpiece", "model.vocab", {"[CLS]": 0, "[UNK]": 0}),
        ("wordpiece", "model.vocab", {"[CLS]": 0, "[UNK]": 1, "\ud800": 2}),
        ("wordpiece", "model.unk_token", "[OTHER]"),
        ("wordpiece", "model.unk_token", None),
        ("wordpiece", "model.unk_token", [[]]),
        ("wordpiece", "model.max_input_chars_per_word", -1),
        ("wordpiece", "added_tokens", {}),
        ("wordpiece", "added_tokens", [{"id": 1}]),
        ("wordpiece", "added_tokens", [{"id": -1, "content": "a"}]),
        ("wordpiece", "normalizer", {"type": "Other"}),
        ("wordpiece", "normalizer", 7),
        ("wordpiece", "normalizer", BAD_CHARACTERS),
        ("wordpiece", "normalizer", {"type": "Sequence", "normalizers": [BAD_CHARACTERS]}),
        ("wordpiece", "normalizer", {"type": "Precompiled", "precompiled_charsmap": None}),
        ("wordpiece", "normalizer", {"type": "Precompiled", "precompiled_charsmap": "%%%"}),
        ("wordpiece", "pre_tokenizer", {"type": "FixedLength", "length": 0}),
        (
            "wordpiece",
            "pre_tokenizer",
            {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False},
        ),
        ("wordpiece", "post_processor", {"type": "Other"}),
        ("wordpiece", "post_processor.cls", ["[CLS]", 10**9]),
        ("wordpiece", "post_processor.cls", ["[CLS]"]),
        ("llama", "model.merges", {}),
        ("llama", "model.merges", [["a"]]),
        ("llama", "model.merges", [["a", 7]]),
        ("llama", "model.merges", ["a b c"]),
        ("llama", "model.merges", [["l", "antikonstitutionell"]]),
        # These end the process if they reach the library.
        ("llama", "model.continuing_subword_prefix", "#"),
        ("llama", "model.continuing_subword_prefix", "é"),
        ("llama", "model.unk_token", 7),
        ("llama", "post_processor.special_tokens", {}),
        ("llama", "post_processor.single", []),
        ("unigram", "model.vocab", [["<s>", 0.0], ["a", "b"]]),
        ("unigram", "model.vocab", [["<s>", 0.0], ["a"]]),
        ("unigram", "model.vocab", []),
        ("unigram", "model.unk_id", 10**6),
        ("unigram", "model.unk_id", -1),
        ("unigram", "model.unk_id", "3"),
    ],
)
def test_damage_is_an_error(kind: str, path: str, value: object) -> None:
    with pytest.raises(CorruptError) as caught:
        ForeignTokenizer(changed(kind, path, value)).encode("un livre")
    assert caught.value.found


@pytest.mark.parametrize("path", ["normalizer", "pre_tokenizer", "decoder", "post_processor"])
@pytest.mark.parametrize("kind", ["wordpiece", "llama", "unigram"])
def test_a_tokenizer_may_lack_any_step(kind: str, path: str) -> None:
    tokenizer = ForeignTokenizer(changed(kind, path, None))
    ids = tokenizer.encode("un livre")
    assert "".join(tokenizer.decode_stream(ids)) == tokenizer.decode(ids)


def test_an_unknown_character_without_a_piece_for_it_is_an_error() -> None:
    """Not a panic, and not another exception."""
    tokenizer = ForeignTokenizer(changed("unigram", "model.unk_id", None))
    assert tokenizer.encode("livre")
    with pytest.raises(CorruptError, match="cannot encode"):
        tokenizer.encode("☃")
    with pytest.raises(CorruptError, match="cannot encode"):
        tokenizer.encode_batch(["livre", "☃"])


def test_random_merges_are_switched_off() -> None:
    tokenizer = ForeignTokenizer(changed("llama", "model.dropout", 0.9))
    assert len({tuple(tokenizer.encode("Un livre magnifique")) for _ in range(20)}) == 1


def test_a_decoder_that_panics_is_not_used() -> None:
    strip = {"type": "Strip", "content": "a", "start": 99, "stop": 99}
    tokenizer = ForeignTokenizer(changed("llama", "decoder", strip))
    assert tokenizer.decode(tokenizer.encode("a livre")) == "a livre"


def test_the_errors_are_of_greffe() -> None:
    for make in (wordpiece, llama, unigram):
        content = make().to_str()
        for bad in (content, "", "[]", "{", '{"greffe": 1}', content[:-100]):
            with pytest.raises(GreffeError):
                ForeignTokenizer(bad)
    with pytest.raises(DataError):
        ForeignTokenizer(changed("llama", "decoder", None)).encode("\udfff")

"""Round trips for any text: every script, emoji, control character and look-alike of a special."""

from __future__ import annotations

from functools import cache
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.config.sections import TokenizerSpec
from greffe.data.native_tokenizer import SPECIALS, train_tokenizer
from greffe.data.pieces import BYTE_PIECES
from greffe.data.tokenizer import Tokenizer

Kind = Literal["bpe", "unigram", "lowercased"]

WORDS = [
    "un",
    "livre,",
    "deux",
    "livres",
    ":",
    "l'amour",
    "aujourd'hui",
    "!",
    "Ελλάδα",
    "мир",
    "本を読む",
    "😀",
    "été\n\tfin",
]


@cache
def tokenizer(kind: Kind) -> Tokenizer:
    if kind == "lowercased":
        return tokenizer("bpe").lowercased()
    texts = [" ".join(WORDS[start:] + WORDS[:start]) for start in range(len(WORDS))] * 5
    return train_tokenizer([*texts, "a  b   c    d"], TokenizerSpec(kind=kind, vocab=450))


kinds = st.sampled_from(["bpe", "unigram", "lowercased"])
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(
        st.sampled_from(
            [*WORDS, *SPECIALS, *BYTE_PIECES[60:66], " ", "  ", "\n", "\0", "▁", "\u0301", "'", "’"]
        ),
        max_size=20,
    ).map("".join),
    st.text(" ▁\n\ta'1é\u0301<>0x", max_size=40),
)
ids = st.lists(st.integers(0, 400), max_size=40)


@settings(deadline=None, max_examples=400)
@given(kinds, texts)
def test_decoding_returns_the_normalised_text(kind: Kind, text: str) -> None:
    tok = tokenizer(kind)
    encoded = tok.encode(text)
    normal = tok.normalize(text)
    assert tok.decode(encoded) == normal
    assert tok.normalize(normal) == normal
    assert all(id >= len(SPECIALS) for id in encoded)
    assert bool(encoded) == bool(text)
    assert tok.token_bytes[encoded].sum() == (len(normal.encode()) + 1 if text else 0)


@settings(deadline=None, max_examples=300)
@given(kinds, st.lists(texts, max_size=4))
def test_batches_encode_as_single_texts(kind: Kind, several: list[str]) -> None:
    tok = tokenizer(kind)
    assert [row.tolist() for row in tok.encode_batch(several)] == [tok.encode(t) for t in several]


@settings(deadline=None, max_examples=200)
@given(kinds, texts, texts)
def test_continuing_adds_exactly_the_text(kind: Kind, first: str, second: str) -> None:
    tok = tokenizer(kind)
    both = tok.encode(first) + tok.encode(second, continues=True)
    assert tok.decode(both) == (
        tok.normalize(first) + tok.normalize(second)
        if first
        else tok.normalize(second).removeprefix(" ")
    )


@settings(deadline=None, max_examples=300)
@given(kinds, ids)
def test_streaming_equals_decoding_of_any_ids(kind: Kind, sequence: list[int]) -> None:
    tok = tokenizer(kind)
    kept = [id for id in sequence if id < tok.size]
    assert "".join(tok.decode_stream(iter(kept))) == tok.decode(kept)

"""Any text comes back in words, and every token belongs to the word that it spells."""

from __future__ import annotations

from functools import cache
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.config.sections import TokenizerSpec
from greffe.data.native_tokenizer import train_tokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.inference.word_spans import find_word_spans

Kind = Literal["bpe", "unigram"]

WORDS = ["un", "livre,", "l'amour", "!", "Ελλάδα", "мир", "本を読む", "😀", "👩🏽‍🚀", "été\n\tfin"]


@cache
def tokenizer(kind: Kind) -> Tokenizer:
    texts = [" ".join(WORDS[start:] + WORDS[:start]) for start in range(len(WORDS))] * 5
    return train_tokenizer([*texts, "a  b   c    d"], TokenizerSpec(kind=kind, vocab=420))


texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
    st.lists(
        st.sampled_from([*WORDS, " ", "  ", "\n", "\0", "▁", "\u0301", "\u200d", "e", "x" * 50]),
        max_size=20,
    ).map("".join),
    st.text(" ▁\n\ta'é\u0301本\u1112\u1161\u11ab", max_size=60),
)


def bare(text: str) -> str:
    return "".join(text.split())


@given(kind=st.sampled_from(["bpe", "unigram"]), text=texts)
@settings(deadline=None)
def test_words_join_to_the_text_and_own_what_spells_them(kind: Kind, text: str) -> None:
    reader = tokenizer(kind)
    spans = find_word_spans(reader, text)
    assert "".join(spans.words) == text
    assert all(spans.words)
    assert spans.ids == reader.encode(text)
    owned: list[list[int]] = [[] for _ in spans.words]
    for number, owner in zip(spans.ids, spans.owners, strict=True):
        owned[owner].append(number)
    for word, ids in zip(spans.words, owned, strict=True):
        assert bare(reader.decode(ids)) == bare(reader.normalize(word))

"""Foreign tokenizers of every kind on any text: the same ids as transformers, spans, streams."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.data.foreign import BERT, KINDS, ROBERTA, TEXTS, read
from transformers import PreTrainedTokenizerFast

from greffe.data.tokenizer import Tokenizer
from greffe.inference.word_spans import find_word_spans

FRAGMENTS = [
    *(word for text in TEXTS[:5] for word in text.split()),
    *BERT,
    *ROBERTA,
    *("<mask>", "<|endoftext|>", "##re", "▁", "Ġ", "<0x41>", "</w>", "greffe"),
    *(" ", "  ", "    ", "\n", "\t", "\u3000", "\u200b", "e\u0301", "ﬁ", "Ⅳ", "İ", "ß", "\0"),
]
texts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=8)), max_size=12).flatmap(
    lambda parts: st.sampled_from([" ".join(parts), "".join(parts)])
)
kinds = st.sampled_from(list(KINDS))


@cache
def both(kind: str) -> tuple[PreTrainedTokenizerFast, Tokenizer]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        backend = KINDS[kind]()
        tokenizer = read(folder, backend)
        return PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json")), tokenizer


@settings(max_examples=400, deadline=None)
@given(kinds, st.lists(texts, min_size=1, max_size=4))
def test_ids_are_those_of_transformers(kind: str, texts: list[str]) -> None:
    theirs, ours = both(kind)
    expected = [theirs(text)["input_ids"] for text in texts]
    assert [ours.wrap(ours.encode(text)).tolist() for text in texts] == [
        ids or [ours.sos] for ids in expected
    ]
    batch = ours.encode_batch(texts)
    assert [ours.wrap(ids).tolist() for ids in batch] == [ids or [ours.sos] for ids in expected]
    assert all(ids.dtype == ours.dtype for ids in batch)


@settings(max_examples=200, deadline=None)
@given(kinds, texts)
def test_a_stream_is_the_text(kind: str, text: str) -> None:
    _, ours = both(kind)
    ids = ours.encode(text)
    assert "".join(ours.decode_stream(ids)) == ours.decode(ids) == ours.normalize(text)


@settings(max_examples=200, deadline=None)
@given(kinds, st.data())
def test_any_ids_are_a_stream(kind: str, data: st.DataObject) -> None:
    _, ours = both(kind)
    ids = data.draw(st.lists(st.integers(0, ours.size - 1), max_size=12))
    assert "".join(ours.decode_stream(ids)) == ours.decode(ids)


@settings(max_examples=200, deadline=None)
@given(kinds, texts)
def test_words_are_the_text_and_own_its_tokens(kind: str, text: str) -> None:
    _, ours = both(kind)
    spans = find_word_spans(ours, text)
    assert "".join(spans.words) == text
    assert spans.ids == ours.encode(text)
    assert all(0 <= owner < max(len(spans.words), 1) for owner in spans.owners)


@settings(max_examples=200, deadline=None)
@given(kinds, st.lists(texts, min_size=2, max_size=4))
def test_a_text_with_masks_is_that_of_transformers(kind: str, parts: list[str]) -> None:
    theirs, ours = both(kind)
    parts = [part.replace(ours.mask_text, "") for part in parts]
    text = ours.mask_text.join(parts)
    masked = ours.encode_around_masks(parts)
    assert len(masked.masks) == len(masked.begins_word) == len(parts) - 1
    assert [masked.ids[index] for index in masked.masks] == [ours.mask] * (len(parts) - 1)
    if ours.mask_text in theirs.get_added_vocab():
        assert masked.ids == theirs(text, add_special_tokens=False)["input_ids"]

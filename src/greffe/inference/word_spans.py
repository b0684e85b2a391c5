"""A text in words, and the word that each of its tokens belongs to. Knows no model.

The words join to the text exactly as it was given, whatever the tokenizer's normaliser made of it.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from greffe.data.tokenizer import Tokenizer

LONGEST_WORD = 40
_WORDS = re.compile(r"\S+\s*|\s+")
# White space to Python, but not to a tokenizer: seen as any other sign.
_SEPARATORS = dict.fromkeys(range(0x1C, 0x20), ".")
# Scripts that put no space between words: Thai to Tibetan, Burmese, Khmer, kana and ideographs.
_UNSPACED = re.compile(
    r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]"
)


@dataclass(frozen=True)
class WordSpans:
    """Words with the white space after them, and the tokens of the whole text."""

    words: list[str]
    """Joined, they are the text."""
    ids: list[int]
    """[tokens] without specials."""
    owners: list[int]
    """[tokens] number of the word that each token belongs to."""


def find_word_spans(tokenizer: Tokenizer, text: str) -> WordSpans:
    """Cut a text at its white space; where a script has none, and in endless words, at tokens."""
    ids = tokenizer.encode(text)
    spans = tokenizer.spans(text)
    assert len(spans) == len(ids)
    seen = text.translate(_SEPARATORS)
    starts = _word_starts(seen, [start for start, _ in spans])
    return WordSpans(
        words=[text[start:end] for start, end in pairwise([*starts, len(text)])],
        ids=ids,
        owners=[bisect_right(starts, _anchor(seen, *span)) - 1 for span in spans],
    )


def _word_starts(text: str, token_starts: Sequence[int]) -> list[int]:
    starts = set()
    for match in _WORDS.finditer(text):
        starts.add(match.start())
        word = match.group().rstrip()
        if len(word) > LONGEST_WORD or _UNSPACED.search(word):
            first = bisect_right(token_starts, match.start())
            last = bisect_right(token_starts, match.start() + len(word) - 1)
            starts.update(place for place in token_starts[first:last] if _may_cut(text, place))
    return sorted(starts)


def _may_cut(text: str, place: int) -> bool:
    """Not before a mark or within an emoji, nor after what joins two characters."""
    is_whole = unicodedata.category(text[place])[0] in "LNP"
    return is_whole and unicodedata.category(text[place - 1]) != "Cf"


def _anchor(text: str, start: int, end: int) -> int:
    """The character whose word owns a token: its first that is not a space.

    A token of spaces alone that ends where a word begins is that word's beginning, as in ▁ + word.
    """
    place = start
    while place < end and text[place].isspace():
        place += 1
    is_at_word = place < len(text) and not text[place].isspace()
    return place if is_at_word else start

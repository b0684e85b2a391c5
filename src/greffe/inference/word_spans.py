"""Split a text into words and assign each token to its word.

The words concatenate to the original text, whatever the tokenizer's normalizer changes.
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
# White space for Python but not for a tokenizer: treated as any other character.
_SEPARATORS = dict.fromkeys(range(0x1C, 0x20), ".")
# Scripts without spaces between words: Thai to Tibetan, Burmese, Khmer, kana and ideographs.
_UNSPACED = re.compile(
    r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]"
)


@dataclass(frozen=True)
class WordSpans:
    """Words, with the white space after them, and the tokens of the whole text."""

    words: list[str]
    """Concatenated, they are the text."""
    ids: list[int]
    """[tokens] without specials."""
    owners: list[int]
    """[tokens] index of the word that each token belongs to."""


def find_word_spans(tokenizer: Tokenizer, text: str) -> WordSpans:
    """Split a text at white space; scripts without spaces and very long words at tokens."""
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
            starts.update(start for start in token_starts[first:last] if _may_split(text, start))
    return sorted(starts)


def _may_split(text: str, index: int) -> bool:
    """Return False before a combining mark, within an emoji and after a joiner."""
    is_whole = unicodedata.category(text[index])[0] in "LNP"
    return is_whole and unicodedata.category(text[index - 1]) != "Cf"


def _anchor(text: str, start: int, end: int) -> int:
    """Return the index of the character whose word owns a token: its first non-space character.

    A token of spaces that ends where a word begins belongs to that word, as in ▁ + word.
    """
    index = start
    while index < end and text[index].isspace():
        index += 1
    is_at_word = index < len(text) and not text[index].isspace()
    return index if is_at_word else start

"""Normalize texts for comparison, split them into words, and shorten them for display."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\w+")
_WORD_CATEGORIES = ("L", "M", "N", "So")  # letters, marks, digits; symbols such as stars and emoji


class _Signs(dict[int, int]):
    """Table for str.translate that replaces non-word characters by spaces; filled on demand."""

    def __missing__(self, code: int) -> int:
        is_word = unicodedata.category(chr(code)).startswith(_WORD_CATEGORIES)
        self[code] = code if is_word else ord(" ")
        return self[code]


_signs = _Signs()


def normalize(text: str) -> str:
    """Return the casefolded NFKC words of a text, separated by single spaces.

    A text without words keeps its other characters, so that `!!!` and `?` stay different.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.translate(_signs).split()) or "".join(folded.split())


def plain_words(text: str) -> list[str]:
    """Return the casefolded sequences of letters, digits and underscores; fast."""
    return split_folded(text.casefold())


def split_folded(text: str) -> list[str]:
    """Return the same as `plain_words` for text that is already casefolded."""
    # Most text is already composed; checking is much faster than normalizing.
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return _WORD.findall(text)


def excerpt(text: str, most: int = 160) -> str:
    """Return the beginning of a text on one line, with at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"

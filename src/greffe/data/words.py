"""Texts by their words: what counts when they are compared, and what is shown of a long one.

Knows nothing of files, labels or tokens.
"""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"\w+")
_KEPT = ("L", "M", "N", "So")  # letters, their marks, digits; signs such as stars and faces


class _Signs(dict[int, int]):
    """For str.translate: what is no part of a word becomes a space. Remembers each character."""

    def __missing__(self, code: int) -> int:
        kept = unicodedata.category(chr(code)).startswith(_KEPT)
        self[code] = code if kept else ord(" ")
        return self[code]


_signs = _Signs()


def normalize(text: str) -> str:
    """The text in one case and one spelling of each character, words parted by single spaces.

    A text without any word keeps its signs, so that `!!!` and `?` stay apart.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.translate(_signs).split()) or "".join(folded.split())


def plain_words(text: str) -> list[str]:
    """Casefolded runs of letters, digits and underscores: quick, for streams of text."""
    return split_folded(text.casefold())


def split_folded(text: str) -> list[str]:
    """The same, of text that is casefolded already."""
    # Most text is composed: to see it is much quicker than to do it again.
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return _WORD.findall(text)


def excerpt(text: str, most: int = 160) -> str:
    """The beginning of a text on one line, at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"

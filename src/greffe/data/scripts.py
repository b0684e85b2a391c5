"""Writing systems: which letters a tokenizer knows, and what the others belong to.

Knows nothing of labels, files or models.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import cache

from greffe.data.pieces import BYTE_PIECES, SPECIALS
from greffe.data.tokenizer import Tokenizer

_NAMES = {"Cjk": "Han"}


@cache
def script_of(character: str) -> str | None:
    """`Latin`, `Cyrillic`, `Han`: what a letter or its mark belongs to; None for other signs."""
    if unicodedata.category(character)[0] not in "LM":
        return None
    # `CYRILLIC SMALL LETTER A`: names begin with the script, as those of shared marks do not.
    first = unicodedata.name(character, "Unnamed").split()[0].split("-")[0].capitalize()
    return _NAMES.get(first, first)


def known_characters(tokenizer: Tokenizer) -> frozenset[str]:
    """Characters that stand in a piece of the vocabulary; others are read byte by byte, or not."""
    apart = {*BYTE_PIECES, *SPECIALS}
    pieces = (tokenizer.piece(number) for number in range(tokenizer.size))
    return frozenset(character for piece in pieces if piece not in apart for character in piece)


def unknown_letters(text: str, known: frozenset[str]) -> tuple[int, Counter[str]]:
    """How many letters a text has, and how many of each script are not known."""
    letters = 0
    unknown: Counter[str] = Counter()
    for character, count in Counter(unicodedata.normalize("NFC", text)).items():
        script = script_of(character)
        if script is None or script in ("Combining", "Variation"):
            continue
        letters += count
        # Tokenizers of another make also replace letters by their plain form.
        if character not in known and not known.issuperset(
            unicodedata.normalize("NFKC", character)
        ):
            unknown[script] += count
    return letters, unknown

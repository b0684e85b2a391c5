"""Writing systems: find letters that a tokenizer does not know, by script."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import cache

from greffe.data.tokenizer import Tokenizer

_NAMES = {"Cjk": "Han"}


@cache
def script_of(character: str) -> str | None:
    """Return the script of a letter or combining mark (`Latin`, `Han`, …); None for others."""
    if unicodedata.category(character)[0] not in "LM":
        return None
    # Names begin with the script, as in `CYRILLIC SMALL LETTER A`, except for shared marks.
    first = unicodedata.name(character, "Unnamed").split()[0].split("-")[0].capitalize()
    return _NAMES.get(first, first)


def known_characters(tokenizer: Tokenizer) -> frozenset[str]:
    """Return the characters that occur in a piece; others are encoded as bytes or unknown."""
    texts = (tokenizer.text_of(id) or "" for id in range(tokenizer.size))
    return frozenset(character for text in texts for character in text)


def unknown_letters(text: str, known: frozenset[str]) -> tuple[int, Counter[str]]:
    """Return the number of letters in a text, and of unknown letters per script."""
    letters = 0
    unknown: Counter[str] = Counter()
    for character, count in Counter(unicodedata.normalize("NFC", text)).items():
        script = script_of(character)
        if script is None or script in ("Combining", "Variation"):
            continue
        letters += count
        # Imported tokenizers may also replace letters by their NFKC form.
        if character not in known and not known.issuperset(
            unicodedata.normalize("NFKC", character)
        ):
            unknown[script] += count
    return letters, unknown

"""The lab's words in one language: the report's catalogue and the lab's own on top of it."""

from __future__ import annotations

from functools import cache
from importlib import resources

from greffe.report.numbers import Language
from greffe.report.words import Words, load_words, words_from_toml


@cache
def own_words(language: Language) -> Words:
    """What the report's catalogue has not."""
    file = resources.files("greffe.lab") / "languages" / f"{language}.toml"
    return words_from_toml(file.read_text("utf-8"), language)


@cache
def lab_words(language: Language) -> Words:
    """Everything that the lab's page says."""
    shared = load_words(language).sentences
    return Words(language, {**shared, **own_words(language).sentences})

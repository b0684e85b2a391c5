"""Words of a page in one language: a catalogue of sentences, filled with numbers of that language.

Catalogues are TOML files of equal shape, one a language. Knows no study and no HTML.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from greffe.report import number_format as numbers
from greffe.report.number_format import NARROW, NO_BREAK, Language


@dataclass(frozen=True)
class Catalog:
    """A language's sentences by key (`verdict.shown`) and its ways with numbers."""

    language: Language
    sentences: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """The sentence of that key, its {places} filled."""
        return self.sentences[key].format(**values)

    def has(self, key: str) -> bool:
        """Whether there is such a sentence."""
        return key in self.sentences

    def model_part(self, name: str) -> str:
        """What a model calls one of its parts, said in this language; as it is if unknown.

        Keys are the English names without figures; sentences have places for the figures.
        """
        key = f"model.{re.sub('[^a-z]+', '_', name.lower()).strip('_')}"
        figures = re.findall(r"\d+(?:\.\d+)?", name)
        if self.sentences.get(key, "").count("{") != len(figures) or not self.has(key):
            return name
        if self.language == "fr":
            figures = [figure.replace(".", ",") for figure in figures]
        return self.sentences[key].format(*figures)

    def formula(self, text: str) -> str:
        """A formula of whole numbers, its thousands as this language parts them."""
        if self.language == "fr":
            text = re.sub(r"(?<=\d),(?=\d{3})", NARROW, text)
        head, bracket, aside = text.partition("(the ")
        aside = f"{bracket}{aside}"
        return self.model_part(head) + (f"({self.model_part(aside)})" if aside else "")

    def counted(self, n: float, noun: str) -> str:
        """A whole number and its noun: 1 seed, 8 seeds."""
        form = "one" if numbers.is_singular(n, self.language) else "many"
        return f"{self.number(n)}{NO_BREAK}{self(f'counted.{noun}.{form}')}"

    def number(self, n: float) -> str:
        """A whole number."""
        return numbers.number(n, self.language)

    def rough(self, n: float) -> str:
        """A whole number of which two digits count: 812 is 810."""
        return self.number(float(f"{n:.2g}"))

    def decimal(self, x: float, digits: int = 2, *, signed: bool = False) -> str:
        """A number with digits after the sign."""
        return numbers.decimal(x, digits, self.language, signed=signed)

    def percent(self, x: float, digits: int = 1) -> str:
        """A fraction as a percentage."""
        return numbers.percent(x, self.language, digits)

    def points(self, x: float, *, signed: bool = False) -> str:
        """A difference in points, without the unit."""
        return numbers.points(x, self.language, signed=signed)

    def counted_points(self, x: float, *, signed: bool = False) -> str:
        """A difference in points, with the unit."""
        is_one = self.language == "fr" and abs(round(100 * x, 1)) < 2
        unit = self(f"counted.point.{'one' if is_one else 'many'}")
        return f"{self.points(x, signed=signed)}{NO_BREAK}{unit}"

    def probability(self, p: float) -> str:
        """A p-value with its relation: `= 0.008`, `< 0.001`."""
        return numbers.probability(p, self.language)

    def duration(self, seconds: float) -> str:
        """A time."""
        return numbers.duration(seconds, self.language)

    def memory(self, size: int) -> str:
        """A number of bytes."""
        return numbers.memory(size, self.language)

    def interval(self, low: str, high: str) -> str:
        """Two bounds that are written already: 4.1 to 8.3."""
        return self("number.interval", low=low, high=high)

    def interval_points(self, low: float, high: float, *, signed: bool | None = None) -> str:
        """An interval of differences; signs are written where one of the bounds is negative."""
        signed = low < 0 if signed is None else signed
        return self.interval(self.points(low, signed=signed), self.points(high, signed=signed))

    def interval_percent(self, low: float, high: float) -> str:
        """An interval of shares; the unit stands once."""
        return self.interval(self.points(low), self.percent(high))

    def enumeration(self, items: list[str]) -> str:
        """a, b and c."""
        if len(items) < 2:
            return "".join(items)
        return self("number.last_of_many", first=", ".join(items[:-1]), last=items[-1])


@cache
def load_catalog(language: Language) -> Catalog:
    """The report's catalogue."""
    return catalog_from_toml(
        (resources.files("greffe.report") / "languages" / f"{language}.toml").read_text("utf-8"),
        language,
    )


def catalog_from_toml(text: str, language: Language) -> Catalog:
    """A catalogue from its file's text; nested tables become dotted keys."""
    flat = _flat(tomllib.loads(text))
    return Catalog(language, {key: set_spaces(sentence, language) for key, sentence in flat})


def set_spaces(text: str, language: Language) -> str:
    """Spaces that must not break, as the language sets them."""
    return french_spaces(text) if language == "fr" else english_spaces(text)


def english_spaces(text: str) -> str:
    """A percentage stays on one line."""
    return text.replace(" %", f"{NO_BREAK}%")


def french_spaces(text: str) -> str:
    """Spaces that must not break, as French sets them; only those that are there already."""
    text = re.sub(r" (?=[;!?])", NARROW, text)
    text = re.sub(r" (?=[:%»])", NO_BREAK, text)
    return text.replace("« ", f"«{NO_BREAK}")


def _flat(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, value in tree.items():
        if isinstance(value, Mapping):
            pairs += _flat(value, f"{prefix}{key}.")
        else:
            pairs.append((f"{prefix}{key}", value))
    return pairs

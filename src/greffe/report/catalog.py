"""The texts of a page in one language: sentences by id, filled with numbers of that language.

Catalogs are TOML files of equal shape, one per language, in a package's `languages` folder.
Components declare the ids of their texts. Knows no study and no HTML.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from greffe.report import number_format as numbers
from greffe.report.number_format import NARROW, NO_BREAK, Language

if TYPE_CHECKING:
    from greffe.model.diagrams import Label

REPORT = "greffe.report"


@dataclass(frozen=True)
class Catalog:
    """A language's sentences by id (`verdict.gain`) and its number formats."""

    language: Language
    sentences: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """Return the sentence of an id, its {placeholders} filled."""
        return self.sentences[key].format(**values)

    def has(self, key: str) -> bool:
        """Return whether there is such a sentence."""
        return key in self.sentences

    # --- models ---

    def label(self, label: Label) -> str:
        """Return a drawing's title or axis label."""
        values = {name: numbers.shortest(x, self.language) for name, x in label.numbers.items()}
        return self(f"drawing.{label.id}", **values)

    def part(self, part: str) -> str:
        """Return the name of a model's part by its id; `block_3` is a block with its number."""
        name, _, number = part.rpartition("_")
        if number.isdecimal():
            return self(f"part.{name}", number=number)
        return " + ".join(self(f"part.{one}") for one in part.split("+"))

    def formula(self, text: str, note: str = "") -> str:
        """Return a formula of whole numbers, with a remark."""
        written = numbers.formula(text, self.language)
        return f"{written} ({self(f'formula.{note}')})" if note else written

    # --- numbers ---

    def counted(self, n: float, noun: str) -> str:
        """Return a whole number and its noun: 1 seed, 8 seeds."""
        return self._counted(self.number(n), noun, numbers.plural_form(n, 0, self.language))

    def number(self, n: float) -> str:
        """Return a whole number."""
        return numbers.number(n, self.language)

    def rough(self, n: float) -> str:
        """Return a whole number rounded to two digits: 812 is 810."""
        return self.number(float(f"{n:.2g}"))

    def decimal(self, x: float, digits: int = 2, *, signed: bool = False) -> str:
        """Return a number with decimals."""
        return numbers.decimal(x, digits, self.language, signed=signed)

    def counted_decimal(self, x: float, noun: str, digits: int = 2) -> str:
        """Return a number with decimals and its noun: 1.37 bits."""
        form = numbers.plural_form(x, digits, self.language)
        return self._counted(self.decimal(x, digits), noun, form)

    def percent(self, x: float, digits: int = 1) -> str:
        """Return a fraction as a percentage."""
        return numbers.percent(x, self.language, digits)

    def points(self, x: float, *, signed: bool = False) -> str:
        """Return a difference in points, without the unit."""
        return numbers.points(x, self.language, signed=signed)

    def counted_points(self, x: float, *, signed: bool = False) -> str:
        """Return a difference in points, with the unit."""
        form = numbers.plural_form(100 * x, 1, self.language)
        return self._counted(self.points(x, signed=signed), "point", form)

    def p_value(self, p: float) -> str:
        """Return a p-value with its relation: `= 0.008`, `< 0.001`."""
        return numbers.p_value(p, self.language)

    def duration(self, seconds: float) -> str:
        """Return a time."""
        return numbers.duration(seconds, self.language)

    def memory(self, size: int) -> str:
        """Return a number of bytes."""
        return numbers.memory(size, self.language)

    def date(self, moment: str) -> str:
        """Return the day of an ISO 8601 date or time."""
        return numbers.date(moment, self.language)

    def interval(self, low: str, high: str) -> str:
        """Return two formatted bounds: 4.1 to 8.3."""
        return self("number.interval", low=low, high=high)

    def interval_points(self, low: float, high: float, *, signed: bool | None = None) -> str:
        """Return an interval of differences; with signs where a bound is negative."""
        signed = low < 0 if signed is None else signed
        return self.interval(self.points(low, signed=signed), self.points(high, signed=signed))

    def interval_percent(self, low: float, high: float) -> str:
        """Return an interval of fractions; the unit is written once."""
        return self.interval(self.points(low), self.percent(high))

    def listing(self, items: Sequence[str]) -> str:
        """Return names as a list: a, b, and c."""
        return numbers.listing(items, self.language)

    def _counted(self, number: str, noun: str, form: str) -> str:
        return f"{number}{NO_BREAK}{self(f'counted.{noun}.{form}')}"


@cache
def load_catalog(language: Language, *packages: str) -> Catalog:
    """Return the report's sentences, and those of further packages that build pages on it."""
    sentences: dict[str, str] = {}
    for package in (REPORT, *packages):
        sentences |= package_sentences(package, language)
    return Catalog(language, sentences)


def package_sentences(package: str, language: Language) -> dict[str, str]:
    """Return what one package's file says, nested tables as dotted ids."""
    file = resources.files(package) / "languages" / f"{language}.toml"
    flat = _flat(tomllib.loads(file.read_text("utf-8")))
    return {key: set_spaces(sentence, language) for key, sentence in flat}


def set_spaces(text: str, language: Language) -> str:
    """Replace spaces that must not break: after a p, and before French punctuation signs."""
    text = re.sub(r"\bp (?=\{)", f"p{NO_BREAK}", text)
    if language != "fr":
        return text
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

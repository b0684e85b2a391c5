"""The texts of a page in one language: sentences by id, filled with numbers of that language.

Catalogs are TOML files of equal shape, one per language, in a package's `languages` folder.
Components declare the ids of their texts. Knows no study and no HTML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, get_args

from greffe.errors import CorruptError, InputError, quote
from greffe.parsing import parse_toml
from greffe.report.number_format import NARROW, NO_BREAK, Language, NumberFormat

if TYPE_CHECKING:
    from greffe.model.diagrams import Label


@dataclass(frozen=True)
class Catalog(NumberFormat):
    """A language's sentences by id (`verdict.gain`), with its number formats."""

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
        values = {name: self.shortest(x) for name, x in label.numbers.items()}
        return self._named(f"drawing.{label.id}", **values)

    def part(self, part: str) -> str:
        """Return the name of a model's part by its id; `block_3` is a block with its number."""
        name, _, number = part.rpartition("_")
        if number.isdecimal():
            return self._named(f"part.{name}", number=number)
        return " + ".join(self._named(f"part.{one}") for one in part.split("+"))

    def formula(self, text: str, note: str = "") -> str:
        """Return a formula of whole numbers, with a remark."""
        written = self.numbers_in(text)
        return f"{written} ({self._named(f'formula.{note}')})" if note else written

    def _named(self, key: str, **values: object) -> str:
        """Return the sentence of an id that a document holds, which may be damaged."""
        try:
            return self(key, **values)
        except KeyError as error:  # the id, or a number that its sentence mentions
            raise CorruptError(
                "The document is damaged or from another version.",
                expected="names of drawings and parts that the report knows",
                found=f"{key}: {error}",
            ) from None

    # --- numbers with a noun, intervals ---

    def counted(self, n: float, noun: str, digits: int = 0) -> str:
        """Return a number and its noun: 1 seed, 8 seeds, 1.37 bits."""
        return self._counted(self.decimal(n, digits), noun, self.plural_form(n, digits))

    def counted_points(self, x: float, *, signed: bool = False) -> str:
        """Return a difference in points, with the unit."""
        form = self.plural_form(100 * x, 1)
        return self._counted(self.points(x, signed=signed), "point", form)

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

    def _counted(self, number: str, noun: str, form: str) -> str:
        return f"{number}{NO_BREAK}{self(f'counted.{noun}.{form}')}"


@cache
def load_catalog(language: Language, *packages: str) -> Catalog:
    """Return the report's sentences, and those of further packages that build pages on it."""
    if language not in get_args(Language):
        raise InputError(
            f"There is no report in the language {quote(language)}.",
            expected=" or ".join(get_args(Language)),
        )
    sentences: dict[str, str] = {}
    for package in ("greffe.report", *packages):
        sentences |= package_sentences(package, language)
    return Catalog(language, sentences)


def package_sentences(package: str, language: Language) -> dict[str, str]:
    """Return the sentences of one package's file, nested tables as dotted ids."""
    file = resources.files(package) / "languages" / f"{language}.toml"
    flat = _flat(parse_toml(file.read_text("utf-8")))
    return {key: set_spaces(sentence, language) for key, sentence in flat.items()}


def set_spaces(text: str, language: Language) -> str:
    """Replace spaces that must not break: after a p, and before French punctuation signs."""
    text = re.sub(r"\bp (?=\{)", f"p{NO_BREAK}", text)
    if language != "fr":
        return text
    text = re.sub(r" (?=[;!?])", NARROW, text)
    text = re.sub(r" (?=[:%»])", NO_BREAK, text)
    return text.replace("« ", f"«{NO_BREAK}")


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in tree.items():
        nested = isinstance(value, Mapping)
        flat |= _flat(value, f"{prefix}{key}.") if nested else {f"{prefix}{key}": value}
    return flat

"""What a finding means and what to do about it, in the reader's language.

The sentences are in `languages/`, one TOML file per language, under the kinds that checks declare.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any, Literal

from greffe.doctor.finding import Finding
from greffe.parsing import parse_toml

Language = Literal["en", "fr"]


def describe(finding: Finding, language: Language = "en") -> tuple[str, str]:
    """Return what was found, and what to do."""
    sentences = load_sentences(language)
    parts = sentences["part"]
    names = [parts.get(name, name) for name in finding.where.split(" and ")]
    other = str(finding.detail.get("other"))
    figures: dict[str, str | int | float] = {
        **finding.detail,
        "count": finding.count,
        "total": finding.total,
        "fraction": finding.count / finding.total if finding.total else 0.0,
        "where": parts["and"].join(names),
        "first": names[0],
        "last": names[-1],
        "other": parts.get(other, other),
    }
    fields = {name: _formatted(value, language) for name, value in figures.items()}
    found = sentences["finding"][finding.kind]
    return found["what"].format_map(fields), found["advice"].format_map(fields)


@cache
def load_sentences(language: Language) -> dict[str, Any]:
    """Return the catalog of a language, nested as in its file."""
    file = resources.files("greffe.doctor") / "languages" / f"{language}.toml"
    return parse_toml(file.read_text("utf-8"))


def _formatted(value: str | int | float, language: Language) -> str:
    """Return a whole number with its separators, or a fraction as a percentage."""
    from babel.numbers import format_decimal, format_percent

    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return format_decimal(value, locale=language)
    pattern = "#,##0.0%" if language == "en" else "#,##0.0\u202f%"
    return format_percent(value, pattern, locale=language)

"""Numbers as a language writes them, by the rules of the Unicode CLDR (through Babel).

Accuracies and differences come in as fractions and go out as percentages or points.
Babel is imported on first use: most commands never write a report.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from babel import Locale

Language = Literal["en", "fr"]

NO_BREAK = "\u00a0"
NARROW = "\u202f"
MINUS = "\N{MINUS SIGN}"

SMALLEST_WRITTEN_P = 0.001
MOST_DECIMALS = 9
LARGEST_PLAIN = 1e15
"""Numbers from here on are written with an exponent: nobody counts thirty digits."""
TIME_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"))


@cache
def _locale(language: Language) -> Locale:
    from babel import Locale

    return Locale.parse(language)


@dataclass(frozen=True)
class NumberFormat:
    """How a language writes numbers, dates and lists."""

    language: Language

    def decimal(self, x: float, digits: int = 2, *, signed: bool = False) -> str:
        """Format a number with `digits` decimals; `signed` writes the plus sign too."""
        from babel.numbers import format_decimal

        text = format_decimal(abs(x), _pattern(x, digits), _locale(self.language))
        return _with_sign(text, x, signed)

    def number(self, n: float) -> str:
        """Format a whole number."""
        return self.decimal(n, 0)

    def rough(self, n: float) -> str:
        """Format a whole number rounded to two digits: 812 is 810."""
        return self.number(float(f"{n:.2g}"))

    def plain(self, x: float, *, signed: bool = False) -> str:
        """Format a number with about three significant digits; whole numbers stay whole."""
        digits = 0 if x == round(x) else min(max(0, 2 - magnitude(x)), MOST_DECIMALS)
        return self.decimal(x, digits, signed=signed)

    def shortest(self, x: float) -> str:
        """Format a number without trailing zeros."""
        from babel.numbers import format_decimal

        pattern = _pattern(x, MOST_DECIMALS, decimal="#")
        return _with_sign(format_decimal(abs(x), pattern, _locale(self.language)), x, False)

    def percent(self, x: float, digits: int = 1) -> str:
        """Format a fraction as a percentage."""
        from babel.numbers import format_percent

        locale = _locale(self.language)
        usual = locale.percent_formats[None].pattern
        text = format_percent(abs(x), usual.replace("#,##0", _pattern(x, digits)), locale)
        return _with_sign(text, x, False)

    def points(self, x: float, *, signed: bool = False) -> str:
        """Format a difference of fractions in percentage points, without the unit."""
        return self.decimal(100 * x, 1, signed=signed)

    def p_value(self, p: float) -> str:
        """Format a p-value with its relation: `= 0.008`, `< 0.001`."""
        if p < SMALLEST_WRITTEN_P:
            return f"<{NO_BREAK}{self.decimal(SMALLEST_WRITTEN_P, 3)}"
        return f"={NO_BREAK}{self.decimal(p, 3 if p < 0.1 else 2)}"

    def duration(self, seconds: float) -> str:
        """Format a time in the unit that suits it."""
        for size, unit in TIME_UNITS:
            if seconds >= 2 * size:
                return self._with_unit(seconds / size, f"duration-{unit}", 1)
        return self._with_unit(seconds, "duration-second", 1 if seconds < 100 else 0)

    def memory(self, size: int) -> str:
        """Format a number of bytes in MB or GB."""
        if size >= 10**9:
            return self._with_unit(size / 10**9, "digital-gigabyte", 2)
        return self._with_unit(size / 10**6, "digital-megabyte", 0)

    def date(self, moment: str) -> str:
        """Format the day of an ISO 8601 date or time."""
        from babel.dates import format_date

        return format_date(datetime.fromisoformat(moment), "long", _locale(self.language))

    def numbers_in(self, formula: str) -> str:
        """Rewrite the whole numbers of a formula, which has English thousands separators."""
        return re.sub(
            r"\d{1,3}(?:,\d{3})+",
            lambda found: self.number(int(found[0].replace(",", ""))),
            formula,
        )

    def listing(self, items: Sequence[str]) -> str:
        """Join names: a, b, and c."""
        from babel.lists import format_list

        return format_list(list(items), locale=_locale(self.language))

    def plural_form(self, x: float, digits: int) -> str:
        """Return `one` or `other`: the form of a noun after a number with so many decimals."""
        shown = round(Decimal(repr(min(abs(float(x)), LARGEST_PLAIN))), digits)
        form = _locale(self.language).plural_form(shown)
        return "one" if form == "one" else "other"

    def decimal_separator(self) -> str:
        """Return the character before decimals."""
        from babel.numbers import get_decimal_symbol

        return get_decimal_symbol(_locale(self.language))

    def _with_unit(self, x: float, unit: str, digits: int) -> str:
        from babel.units import format_unit

        locale = _locale(self.language)
        text = format_unit(x, unit, "short", format=_pattern(x, digits), locale=locale)
        return text.replace(" ", NO_BREAK)


def magnitude(x: float) -> int:
    """Return the power of ten of a number's first digit."""
    return math.floor(math.log10(abs(x))) if x else 0


def _pattern(x: float, digits: int, decimal: Literal["0", "#"] = "0") -> str:
    """Return the pattern for a number; `#` are decimals that are left out if they are zero."""
    if abs(x) >= LARGEST_PLAIN:
        return "0.##E0"
    return f"#,##0.{decimal * digits}" if digits else "#,##0"


def _with_sign(text: str, x: float, signed: bool) -> str:
    # What is written as zero has no sign.
    if not re.search("[1-9]", text):
        return text
    return f"{MINUS if x < 0 else '+' if signed else ''}{text}"

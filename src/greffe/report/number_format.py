"""Numbers as a language writes them, by the rules of the Unicode CLDR (through Babel).

Accuracies and differences come in as fractions and go out as percentages or points.
Babel is imported on first use: most commands never write a report.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
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
TIME_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"))


@cache
def _locale(language: Language) -> Locale:
    from babel import Locale

    return Locale.parse(language)


def decimal(x: float, digits: int, language: Language, *, signed: bool = False) -> str:
    """Format a number with `digits` decimals; `signed` writes the plus sign too."""
    from babel.numbers import format_decimal

    return _with_sign(format_decimal(abs(x), _pattern(digits), _locale(language)), x, signed)


def number(n: float, language: Language) -> str:
    """Format a whole number."""
    return decimal(n, 0, language)


def plain(x: float, language: Language, *, signed: bool = False) -> str:
    """Format a number with about three significant digits; whole numbers stay whole."""
    digits = 0 if x == round(x) else min(max(0, 2 - magnitude(x)), MOST_DECIMALS)
    return decimal(x, digits, language, signed=signed)


def shortest(x: float, language: Language) -> str:
    """Format a number without trailing zeros."""
    from babel.numbers import format_decimal

    pattern = f"#,##0.{'#' * MOST_DECIMALS}"
    return _with_sign(format_decimal(abs(x), pattern, _locale(language)), x, False)


def percent(x: float, language: Language, digits: int = 1) -> str:
    """Format a fraction as a percentage."""
    from babel.numbers import format_percent

    usual = _locale(language).percent_formats[None].pattern
    text = format_percent(abs(x), usual.replace("#,##0", _pattern(digits)), _locale(language))
    return _with_sign(text, x, False)


def points(x: float, language: Language, *, signed: bool = False) -> str:
    """Format a difference of fractions in percentage points, without the unit."""
    return decimal(100 * x, 1, language, signed=signed)


def p_value(p: float, language: Language) -> str:
    """Format a p-value with its relation: `= 0.008`, `< 0.001`."""
    if p < SMALLEST_WRITTEN_P:
        return f"<{NO_BREAK}{decimal(SMALLEST_WRITTEN_P, 3, language)}"
    return f"={NO_BREAK}{decimal(p, 3 if p < 0.1 else 2, language)}"


def duration(seconds: float, language: Language) -> str:
    """Format a time in the unit that suits it."""
    for size, unit in TIME_UNITS:
        if seconds >= 2 * size:
            return _with_unit(seconds / size, f"duration-{unit}", 1, language)
    return _with_unit(seconds, "duration-second", 1 if seconds < 100 else 0, language)


def memory(size: int, language: Language) -> str:
    """Format a number of bytes in MB or GB."""
    if size >= 10**9:
        return _with_unit(size / 10**9, "digital-gigabyte", 2, language)
    return _with_unit(size / 10**6, "digital-megabyte", 0, language)


def date(moment: str, language: Language) -> str:
    """Format the day of an ISO 8601 date or time."""
    from babel.dates import format_date

    return format_date(datetime.fromisoformat(moment), "long", _locale(language))


def formula(text: str, language: Language) -> str:
    """Rewrite the whole numbers of a formula, which has English thousands separators."""
    return re.sub(
        r"\d{1,3}(?:,\d{3})+", lambda found: number(int(found[0].replace(",", "")), language), text
    )


def listing(items: Sequence[str], language: Language) -> str:
    """Join names: a, b, and c."""
    from babel.lists import format_list

    return format_list(list(items), locale=_locale(language))


def plural_form(x: float, digits: int, language: Language) -> str:
    """Return `one` or `other`: the form of a noun after a number with so many decimals."""
    form = _locale(language).plural_form(round(Decimal(repr(abs(float(x)))), digits))
    return "one" if form == "one" else "other"


def decimal_sign(language: Language) -> str:
    """Return the sign before decimals."""
    from babel.numbers import get_decimal_symbol

    return get_decimal_symbol(_locale(language))


def magnitude(x: float) -> int:
    """Return the power of ten of a number's first digit."""
    return math.floor(math.log10(abs(x))) if x else 0


def _pattern(digits: int) -> str:
    return f"#,##0.{'0' * digits}" if digits else "#,##0"


def _with_sign(text: str, x: float, signed: bool) -> str:
    # What is written as zero has no sign.
    if not re.search("[1-9]", text):
        return text
    return f"{MINUS if x < 0 else '+' if signed else ''}{text}"


def _with_unit(x: float, unit: str, digits: int, language: Language) -> str:
    from babel.units import format_unit

    text = format_unit(x, unit, "short", format=_pattern(digits), locale=_locale(language))
    return text.replace(" ", NO_BREAK)

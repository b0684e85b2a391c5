"""Numbers as people of a language write them: decimal sign, thousands, units and their spaces.

Knows no sentence. Shares come in as fractions and go out as percentages or points.
"""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "fr"]

NO_BREAK = "\u00a0"
NARROW = "\u202f"
MINUS = "−"

SMALLEST_SHOWN_P = 0.001
MINUTE, HOUR, DAY = 60, 3600, 86_400


def decimal(x: float, digits: int, language: Language, *, signed: bool = False) -> str:
    """A number with so many digits after the sign; `signed` writes the plus too."""
    text = f"{abs(x):,.{digits}f}"
    is_zero = not text.strip("0.,")
    if language == "fr":
        text = text.replace(",", NARROW).replace(".", ",")
    if is_zero:
        return text
    return f"{MINUS if x < 0 else '+' if signed else ''}{text}"


def number(n: float, language: Language) -> str:
    """A whole number with its thousands apart."""
    return decimal(n, 0, language)


def percent(x: float, language: Language, digits: int = 1) -> str:
    """A fraction as a percentage."""
    return f"{decimal(100 * x, digits, language)}{NO_BREAK}%"


def points(x: float, language: Language, *, signed: bool = False) -> str:
    """A difference of fractions in points of percentage, without the unit."""
    return decimal(100 * x, 1, language, signed=signed)


def probability(p: float, language: Language) -> str:
    """A p-value with its relation: two digits that count, at most three after the sign."""
    if p < SMALLEST_SHOWN_P:
        return f"<{NO_BREAK}{decimal(SMALLEST_SHOWN_P, 3, language)}"
    return f"={NO_BREAK}{decimal(p, 3 if p < 0.1 else 2, language)}"


def duration(seconds: float, language: Language) -> str:
    """A time in the unit that suits it: 4.2 s, 12 min, 3.5 h, 2.1 d."""
    day = "j" if language == "fr" else "d"
    for size, unit in ((DAY, day), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= 2 * size:
            return f"{decimal(seconds / size, 1, language)}{NO_BREAK}{unit}"
    return f"{decimal(seconds, 1 if seconds < 100 else 0, language)}{NO_BREAK}s"


def memory(size: int, language: Language) -> str:
    """A number of bytes in MB or GB."""
    byte = "o" if language == "fr" else "B"
    if size >= 10**9:
        return f"{decimal(size / 10**9, 2, language)}{NO_BREAK}G{byte}"
    return f"{decimal(size / 10**6, 0, language)}{NO_BREAK}M{byte}"


def is_singular(n: float, language: Language) -> bool:
    """Whether a noun counted by `n` stands in the singular."""
    return abs(n) < 2 if language == "fr" else n == 1

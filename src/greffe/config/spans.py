"""Spans: amounts of training such as 20m or 3epochs. Knows nothing else of recipes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from greffe.errors import RecipeError, quote

SpanUnit = Literal["seconds", "steps", "epochs", "tokens", "percent"]

LEAST = 1e-6
"""Of any unit: less is no training, and divisions by it would overflow."""
MOST: dict[SpanUnit, float] = {
    "seconds": 10 * 366 * 24 * 3600.0,
    "steps": 1e12,
    "epochs": 1e9,
    "tokens": 1e18,
    "percent": 100.0,
}
"""Ten years, or more than a machine can do in that time."""

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_CLOCK = re.compile(rf"(?:(?P<h>{_NUMBER})h)?(?:(?P<m>{_NUMBER})m)?(?:(?P<s>{_NUMBER})s)?")
_COUNT = re.compile(rf"(?P<amount>{_NUMBER})(?P<scale>[kKMG]?)(?P<unit>steps?|epochs?|tokens?|%)")
_SCALES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_UNITS: dict[str, SpanUnit] = {
    "step": "steps",
    "epoch": "epochs",
    "token": "tokens",
    "%": "percent",
}
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}


@dataclass(frozen=True)
class Span:
    """An amount of training: time, steps, epochs, tokens or a percentage of the whole budget."""

    unit: SpanUnit
    amount: float

    @classmethod
    def parse(cls, text: str) -> Span:
        """Parse `20m`, `1h30m`, `90s`, `2000steps`, `3epochs`, `50Mtokens` or `5%`."""
        span = _read(text.replace(" ", ""))
        if span is None or span.amount < LEAST:
            raise RecipeError(
                f"{quote(text)} is not an amount of training.",
                expected="time, steps, epochs or tokens above zero: 20m, 1h30m, 2000steps, "
                "3epochs, 50Mtokens",
                found=quote(text),
                hint="for example --budget 20m",
            )
        if span.amount > MOST[span.unit]:
            raise RecipeError(
                f"{quote(text)} is not an amount of training: it is too large.",
                expected=f"at most {MOST[span.unit]:,.0f} {span.unit}",
                found=quote(text),
            )
        return span


def _read(text: str) -> Span | None:
    if match := _COUNT.fullmatch(text):
        amount = float(match["amount"]) * _SCALES[match["scale"]]
        return Span(_UNITS[match["unit"].removesuffix("s")], amount)
    if match := _CLOCK.fullmatch(text):
        return Span("seconds", sum(float(match[k] or 0) * n for k, n in _SECONDS.items()))
    return None

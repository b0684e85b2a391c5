"""Spans: amounts of training such as 20m or 3epochs. Knows nothing else of recipes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from greffe.errors import RecipeError

SpanUnit = Literal["seconds", "steps", "epochs", "tokens", "percent"]

_NUMBER = r"\d+(?:\.\d+)?"
_CLOCK = re.compile(rf"(?:(?P<h>{_NUMBER})h)?(?:(?P<m>{_NUMBER})m)?(?:(?P<s>{_NUMBER})s)?$")
_COUNT = re.compile(rf"(?P<amount>{_NUMBER})(?P<scale>[kKMG]?)(?P<unit>steps?|epochs?|tokens?|%)$")
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
        if span is None or span.amount <= 0 or (span.unit == "percent" and span.amount > 100):
            raise RecipeError(
                f"{text!r} is not an amount of training.",
                expected="time, steps, epochs or tokens above zero: 20m, 1h30m, 2000steps, "
                "3epochs, 50Mtokens",
                found=repr(text),
                hint="for example --budget 20m",
            )
        return span


def _read(text: str) -> Span | None:
    if match := _COUNT.match(text):
        amount = float(match["amount"]) * _SCALES[match["scale"]]
        return Span(_UNITS[match["unit"].removesuffix("s")], amount)
    if match := _CLOCK.match(text):
        return Span("seconds", sum(float(match[k] or 0) * n for k, n in _SECONDS.items()))
    return None

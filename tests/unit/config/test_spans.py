"""Amounts of training, as written in recipes and on the command line."""

from __future__ import annotations

import pytest

from greffe.config.spans import Span
from greffe.errors import RecipeError


@pytest.mark.parametrize(
    ("text", "unit", "amount"),
    [
        ("20m", "seconds", 1200),
        ("1h30m", "seconds", 5400),
        ("90s", "seconds", 90),
        ("0.5h", "seconds", 1800),
        ("2000steps", "steps", 2000),
        ("2 ksteps", "steps", 2000),
        ("1step", "steps", 1),
        ("3epochs", "epochs", 3),
        ("0.5epochs", "epochs", 0.5),
        ("50Mtokens", "tokens", 50e6),
        ("1Gtokens", "tokens", 1e9),
        ("5%", "percent", 5),
        ("100%", "percent", 100),
    ],
)
def test_a_span_is_read(text: str, unit: str, amount: float) -> None:
    span = Span.parse(text)
    assert (span.unit, span.amount) == (unit, pytest.approx(amount))


@pytest.mark.parametrize(
    "text", ["", " ", "0steps", "0m", "-5m", "20", "m", "soon", "20minutes", "101%", "1m1h", "3m%"]
)
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="is not an amount of training") as caught:
        Span.parse(text)
    assert caught.value.found == repr(text)

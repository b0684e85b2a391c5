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


@pytest.mark.parametrize("text", ["٣steps", "1e400steps", "0.0000001epochs", "20m\n", "²steps"])
def test_digits_are_ascii_and_amounts_are_at_least_a_millionth(text: str) -> None:
    with pytest.raises(RecipeError, match="is not an amount of training"):
        Span.parse(text)


@pytest.mark.parametrize(
    "text", ["9" * 400 + "steps", "9" * 400 + "h", "1001Gsteps", "88000h", "2000000000Gtokens"]
)
def test_an_amount_that_no_machine_can_do_is_too_large(text: str) -> None:
    with pytest.raises(RecipeError, match="too large") as caught:
        Span.parse(text)
    assert "at most" in str(caught.value.expected)


@pytest.mark.parametrize("text", ["1000Gsteps", "87000h", "1000000000Gtokens", "0.000001epochs"])
def test_the_largest_and_smallest_amounts_are_read(text: str) -> None:
    assert Span.parse(text).amount > 0

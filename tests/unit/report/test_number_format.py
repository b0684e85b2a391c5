"""Numbers as English and French write them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from greffe.report.number_format import (
    date,
    decimal,
    duration,
    formula,
    listing,
    memory,
    number,
    p_value,
    percent,
    plain,
    plural_form,
    points,
)


def test_percentages() -> None:
    assert percent(0.8, "en") == "80.0%"
    assert percent(0.8, "fr") == "80,0\u00a0%"
    assert percent(-0.8134, "en", 2) == "−81.34%"


def test_decimals_have_a_real_minus_and_a_plus_where_asked() -> None:
    assert decimal(-1234567.891, 2, "en") == "−1,234,567.89"
    assert decimal(1234.5, 1, "fr") == "1\u202f234,5"
    assert points(0.062, "en") == "6.2"
    assert points(0.008, "fr", signed=True) == "+0,8"
    assert points(-0.011, "en") == "−1.1"


def test_what_is_written_as_zero_has_no_sign() -> None:
    assert points(-0.0001, "en", signed=True) == "0.0"


def test_thousands() -> None:
    assert number(1_234_567, "en") == "1,234,567"
    assert number(1_234_567, "fr") == "1\u202f234\u202f567"
    assert number(999.6, "fr") == "1\u202f000"


@pytest.mark.parametrize(
    ("value", "written"), [(0, "0"), (1600, "1,600"), (3.14159, "3.14"), (0.0123456, "0.0123")]
)
def test_plain_numbers_have_about_three_digits(value: float, written: str) -> None:
    assert plain(value, "en") == written


@pytest.mark.parametrize(
    ("p", "written"),
    [(0.0078, "= 0.008"), (0.0004, "< 0.001"), (0.125, "= 0.12"), (1.0, "= 1.00")],
)
def test_p_values(p: float, written: str) -> None:
    assert p_value(p, "en").replace("\u00a0", " ") == written


def test_times_and_sizes_choose_their_unit() -> None:
    def spaced(text: str) -> str:
        return text.replace("\u00a0", " ").replace("\u202f", " ")

    assert spaced(duration(95.4, "fr")) == "95,4 s"
    assert spaced(duration(1200, "en")) == "20.0 min"
    assert spaced(duration(3 * 86_400, "fr")) == "3,0 j"
    assert spaced(memory(812_000_000, "fr")) == "812 Mo"
    assert spaced(memory(2_500_000_000, "en")) == "2.50 GB"
    assert " " not in duration(95.4, "en")


@pytest.mark.parametrize(
    ("x", "digits", "english", "french"),
    [
        (0, 0, "other", "one"),
        (1, 0, "one", "one"),
        (1.9, 1, "other", "one"),
        (-2, 0, "other", "other"),
    ],
)
def test_plural_forms(x: float, digits: int, english: str, french: str) -> None:
    assert plural_form(x, digits, "en") == english
    assert plural_form(x, digits, "fr") == french


def test_a_million_has_a_plural_that_catalogs_know() -> None:
    assert plural_form(1_000_000, 0, "fr") == "other"


def test_dates() -> None:
    assert date("2026-11-16T05:00:00+00:00", "en") == "November 16, 2026"
    assert date("2026-11-16", "fr") == "16 novembre 2026"


def test_lists() -> None:
    assert listing(["a", "b"], "fr") == "a et b"
    assert listing(["a"], "en") == "a"
    assert listing([], "en") == ""


def test_formulas_keep_what_is_no_number() -> None:
    assert formula("− 4 × (50,001 − 100) × 2048", "fr") == "− 4 × (50\u202f001 − 100) × 2048"


def test_babel_is_loaded_by_the_first_number_only() -> None:
    code = "import sys, greffe.report.build; sys.exit('babel' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

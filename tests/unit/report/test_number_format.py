"""Numbers as English and French write them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from greffe.report.number_format import NO_BREAK, NumberFormat

EN, FR = NumberFormat("en"), NumberFormat("fr")


def test_percentages() -> None:
    assert EN.percent(0.8) == "80.0%"
    assert FR.percent(0.8) == "80,0\u00a0%"
    assert EN.percent(-0.8134, 2) == "−81.34%"


def test_decimals_have_a_real_minus_and_a_plus_where_asked() -> None:
    assert EN.decimal(-1234567.891, 2) == "−1,234,567.89"
    assert FR.decimal(1234.5, 1) == "1\u202f234,5"
    assert EN.number(999_999_999_999_999) == "999,999,999,999,999"
    assert EN.decimal(-1e30, 2) == "−1E30"
    assert FR.decimal(1.234e300, 2) == "1,23E300"
    assert EN.percent(1e30) == "1E32%"
    assert EN.shortest(1e20) == "1E20"
    assert EN.duration(86_400e30) == f"1E30{NO_BREAK}days"
    assert EN.plural_form(1e300, 1) == "other"
    assert EN.points(0.062) == "6.2"
    assert FR.points(0.008, signed=True) == "+0,8"
    assert EN.points(-0.011) == "−1.1"


def test_what_is_written_as_zero_has_no_sign() -> None:
    assert EN.points(-0.0001, signed=True) == "0.0"


def test_thousands() -> None:
    assert EN.number(1_234_567) == "1,234,567"
    assert FR.number(1_234_567) == "1\u202f234\u202f567"
    assert FR.number(999.6) == "1\u202f000"


@pytest.mark.parametrize(
    ("value", "written"), [(0, "0"), (1600, "1,600"), (3.14159, "3.14"), (0.0123456, "0.0123")]
)
def test_plain_numbers_have_about_three_digits(value: float, written: str) -> None:
    assert EN.plain(value) == written


@pytest.mark.parametrize(
    ("p", "written"),
    [(0.0078, "= 0.008"), (0.0004, "< 0.001"), (0.125, "= 0.12"), (1.0, "= 1.00")],
)
def test_p_values(p: float, written: str) -> None:
    assert EN.p_value(p).replace("\u00a0", " ") == written


def test_times_and_sizes_choose_their_unit() -> None:
    def spaced(text: str) -> str:
        return text.replace("\u00a0", " ").replace("\u202f", " ")

    assert spaced(FR.duration(95.4)) == "95,4 s"
    assert spaced(EN.duration(1200)) == "20.0 min"
    assert spaced(FR.duration(3 * 86_400)) == "3,0 j"
    assert spaced(FR.memory(812_000_000)) == "812 Mo"
    assert spaced(EN.memory(2_500_000_000)) == "2.50 GB"
    assert " " not in EN.duration(95.4)


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
    assert EN.plural_form(x, digits) == english
    assert FR.plural_form(x, digits) == french


def test_a_million_has_a_plural_that_catalogs_know() -> None:
    assert FR.plural_form(1_000_000, 0) == "other"


def test_dates() -> None:
    assert EN.date("2026-11-16T05:00:00+00:00") == "November 16, 2026"
    assert FR.date("2026-11-16") == "16 novembre 2026"


def test_lists() -> None:
    assert FR.listing(["a", "b"]) == "a et b"
    assert EN.listing(["a"]) == "a"
    assert EN.listing([]) == ""


def test_formulas_keep_what_is_no_number() -> None:
    assert FR.numbers_in("− 4 × (50,001 − 100) × 2048") == "− 4 × (50\u202f001 − 100) × 2048"


def test_babel_is_loaded_by_the_first_number_only() -> None:
    code = "import sys, greffe.report.build; sys.exit('babel' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

"""Catalogues agree with each other; numbers and spaces are those of the language."""

from __future__ import annotations

import re
import string
from typing import get_args

import pytest

from greffe.report.catalog import Catalog, catalog_from_toml, french_spaces, load_catalog
from greffe.report.number_format import (
    Language,
    duration,
    memory,
    number,
    percent,
    points,
    probability,
)


def places(sentence: str) -> set[str]:
    """Names of the {places} of a sentence."""
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}


def test_both_languages_have_the_same_sentences() -> None:
    english, french = load_catalog("en").sentences, load_catalog("fr").sentences
    assert list(english) == list(french)


def test_both_languages_have_the_same_places() -> None:
    english, french = load_catalog("en").sentences, load_catalog("fr").sentences
    assert {key: places(text) for key, text in english.items()} == {
        key: places(text) for key, text in french.items()
    }


@pytest.mark.parametrize("language", get_args(Language))
def test_every_sentence_says_something(language: Language) -> None:
    assert all(text.strip() or key.startswith("chart.") for key, text in _items(language))


def test_french_has_no_breakable_space_before_its_signs() -> None:
    for key, text in _items("fr"):
        assert not re.search(r" [;:!?%»]|« ", text), key
        assert not re.search(r"[^\W\d_)}][;!?%»]", text), key


def test_french_has_no_english_apostrophe() -> None:
    assert [key for key, text in _items("fr") if "'" in text] == []


def test_french_spaces_touch_only_spaces_that_are_there() -> None:
    assert french_spaces("Oui ; non : « 5 % » ! http://x") == (
        "Oui\u202f; non\u00a0: «\u00a05\u00a0%\u00a0»\u202f! http://x"
    )


def test_nested_tables_become_dotted_keys() -> None:
    catalog = catalog_from_toml('[a.b]\nc = "{n} %"', "en")
    assert catalog("a.b.c", n=3) == "3\u00a0%"


def _items(language: Language) -> list[tuple[str, str]]:
    return list(load_catalog(language).sentences.items())


# --- numbers --------------------------------------------------------------------------------------


def test_percentages() -> None:
    assert percent(0.8134, "en") == "81.3\u00a0%"
    assert percent(0.8134, "fr") == "81,3\u00a0%"


def test_points_have_their_sign_where_asked() -> None:
    assert points(0.062, "en") == "6.2"
    assert points(0.008, "fr", signed=True) == "+0,8"
    assert points(-0.011, "en") == "−1.1"
    assert points(-0.0001, "en", signed=True) == "0.0"


def test_thousands() -> None:
    assert number(1_234_567, "en") == "1,234,567"
    assert number(1_234_567, "fr") == "1\u202f234\u202f567"
    assert number(999.6, "fr") == "1\u202f000"


@pytest.mark.parametrize(
    ("p", "shown"),
    [(0.0078, "= 0.008"), (0.0004, "< 0.001"), (0.125, "= 0.12"), (1.0, "= 1.00")],
)
def test_p_values(p: float, shown: str) -> None:
    assert probability(p, "en").replace("\u00a0", " ") == shown


def test_times_and_sizes_choose_their_unit() -> None:
    assert duration(95.4, "fr") == "95,4\u00a0s"
    assert duration(1200, "en") == "20.0\u00a0min"
    assert duration(3 * 86_400, "fr") == "3,0\u00a0j"
    assert memory(812_000_000, "fr") == "812\u00a0Mo"
    assert memory(2_500_000_000, "en") == "2.50\u00a0GB"


def test_nouns_follow_their_number(english: Catalog, french: Catalog) -> None:
    assert english.counted(1, "seed") == "1\u00a0seed"
    assert english.counted(0, "seed") == "0\u00a0seeds"
    assert french.counted(0, "seed") == "0\u00a0graine"
    assert french.counted_points(0.019) == "1,9\u00a0point"
    assert french.counted_points(0.0199) == "2,0\u00a0points"
    assert english.counted_points(0.01) == "1.0\u00a0points"


def test_intervals(english: Catalog, french: Catalog) -> None:
    assert english.interval_points(0.041, 0.083) == "4.1 to 8.3"
    assert english.interval_points(-0.011, 0.027) == "−1.1 to +2.7"
    assert french.interval_points(-0.011, 0.027) == "de −1,1 à +2,7"
    assert french.interval_percent(0.79, 0.83) == "de 79,0 à 83,0\u00a0%"


def test_rough_numbers_have_two_digits(english: Catalog) -> None:
    assert [english.rough(n) for n in (812.4, 1449, 50, 7.2)] == ["810", "1,400", "50", "7"]


def test_lists(english: Catalog, french: Catalog) -> None:
    assert english.enumeration(["a", "b", "c"]) == "a, b and c"
    assert french.enumeration(["a", "b"]) == "a et b"
    assert english.enumeration(["a"]) == "a"


def test_parts_of_models_are_translated_with_their_figures(french: Catalog) -> None:
    assert french.model_part("block 3") == "bloc 3"
    assert french.model_part("ALiBi positions: head 0, slope 0.25") == (
        "Positions ALiBi\u00a0: tête 0, pente 0,25"
    )
    assert french.model_part("something new 7") == "something new 7"
    assert french.model_part("block 3 of 4") == "block 3 of 4"


def test_formulas(english: Catalog, french: Catalog) -> None:
    assert french.formula("50,001 × 200") == "50\u202f001 × 200"
    assert french.formula("none") == "aucun"
    assert french.formula("50,001 (the matrix is the embedding)") == (
        "50\u202f001 (la matrice est le plongement)"
    )
    assert english.formula("3 × (200 × 200 + 200)") == "3 × (200 × 200 + 200)"


@pytest.fixture
def english() -> Catalog:
    return load_catalog("en")


@pytest.fixture
def french() -> Catalog:
    return load_catalog("fr")

"""Letters that a vocabulary has not, and the scripts they belong to."""

from __future__ import annotations

import pytest

from greffe.data.scripts import known_characters, script_of, unknown_letters


@pytest.mark.parametrize(
    ("character", "script"),
    [
        ("a", "Latin"),
        ("É", "Latin"),
        ("ж", "Cyrillic"),
        ("語", "Han"),
        ("\u0627", "Arabic"),
        ("ひ", "Hiragana"),
        ("한", "Hangul"),
        ("1", None),
        ("!", None),
        (" ", None),
        ("👍", None),
    ],
)
def test_script_of(character, script):
    assert script_of(character) == script


def test_known_characters_are_those_of_pieces(tiny_tokenizer):
    known = known_characters(tiny_tokenizer)
    assert {"e", "é", "C", " "} <= known
    assert "ж" not in known


def test_names_of_bytes_and_of_special_pieces_are_no_text(tiny_tokenizer):
    assert tiny_tokenizer.text_of(tiny_tokenizer.sos) is None
    assert tiny_tokenizer.text_of(tiny_tokenizer.id_of("<0xD0>")) is None
    assert known_characters(tiny_tokenizer).isdisjoint("▁\N{CYRILLIC SMALL LETTER A}")


def test_unknown_letters_are_counted_by_script(tiny_tokenizer):
    known = known_characters(tiny_tokenizer)
    assert unknown_letters("Ce livre est triste !", known) == (16, {})
    assert unknown_letters("est книга 語 👍 1", known) == (9, {"Cyrillic": 5, "Han": 1})
    assert unknown_letters("e\u0301", known) == (1, {})
    assert unknown_letters("\uff45", known) == (1, {}), "a wide e is an e"
    assert unknown_letters("", known) == (0, {})

"""Words as they are compared and shown."""

from __future__ import annotations

import pytest

from greffe.data.words import excerpt, normalize, plain_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  L'Été,\n c'est FINI ! ", "l été c est fini"),
        ("E\u0301te\u0301", "été"),
        ("ﬁn", "fin"),
        ("STRASSE straße", "strasse strasse"),
        ("!!!", "!!!"),
        ("? !", "?!"),
        (" \n", ""),
        ("★★★ bof", "★★★ bof"),
        ("कि", "कि"),
    ],
)
def test_normalised(text, expected):
    assert normalize(text) == expected


def test_plain_words_are_casefolded_and_composed():
    assert plain_words("L'E\u0301TÉ, 2_3 !") == ["l", "été", "2_3"]


def test_an_excerpt_is_one_short_line():
    assert excerpt("a\n b") == "a b"
    assert excerpt("x" * 160) == "x" * 160
    assert excerpt("mot " * 100) == "mot " * 39 + "mot…"
    assert len(excerpt("x" * 161)) == 160
    assert excerpt("abcdef", 3) == "ab…"

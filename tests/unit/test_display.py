"""Texts from anyone, in Markdown and in a terminal."""

from __future__ import annotations

import pytest

from greffe.display import markdown_code, markdown_text, terminal_text


def test_markdown_text_keeps_no_break_spaces() -> None:
    assert markdown_text("5\u00a0% *x*\r\n_y_") == "5\u00a0% \\*x\\* \\_y\\_"


def test_markdown_text_is_no_html_and_no_link() -> None:
    assert markdown_text("<img src=x>") == r"\<img src=x\>"
    assert markdown_text("[a](javascript:x)") == r"\[a\](javascript:x)"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("greffe show", "`greffe show`"),
        ("a\nb | c", r"`a b \| c`"),
        ("a `b` ``c", "``` a `b` ``c ```"),
    ],
)
def test_markdown_code_ends_where_the_text_does(text: str, code: str) -> None:
    assert markdown_code(text) == code


def test_a_terminal_obeys_no_text() -> None:
    assert terminal_text("\x1b[31mred\x07\x9b\r") == r"\x1b[31mred\x07\x9b\r"
    assert terminal_text("\u202eevil\u2066") == r"\u202eevil\u2066"
    assert terminal_text("Été 😀\t\n東京") == "Été 😀\t\n東京"

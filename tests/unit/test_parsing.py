from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from greffe.parsing import DEEPEST, ParseError, format_json, parse_json, parse_toml


def test_json_and_toml_are_read() -> None:
    assert parse_json(b'{"a": [1, 2.5, null, "\xc3\xa9"]}') == {"a": [1, 2.5, None, "é"]}
    assert parse_json('"text"') == "text"
    assert parse_json(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    assert parse_toml('a = 1\n[b]\nc = ["x"]') == {"a": 1, "b": {"c": ["x"]}}


def test_json_is_written_without_escapes_and_never_with_nan() -> None:
    assert format_json({"é": [1, None]}) == '{"é": [1, null]}'
    assert format_json([1], indent=2) == "[\n  1\n]"
    for value in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            format_json({"score": value})


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"{", "Expecting"),
        (b"\xff\xfe\x00", "decode"),
        (b"NaN", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"1" * 5000, "an integer of thousands of digits"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested deeper"),
        (b'{"a": 1, "b": {"c": 1, "d": 2, "\\u0063": 3}}', "the key 'c' occurs twice"),
        (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "nested deeper"),
    ],
)
def test_damaged_json_is_a_parse_error(data: bytes, found: str) -> None:
    with pytest.raises(ParseError, match=found):
        parse_json(data)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = ", "Invalid value"),
        (f"a = {'1' * 5000}", "an integer of thousands of digits"),
        ("a = " + "[" * 100_000, "nested deeper"),
        ("a = " + "{a = " * 100_000, "nested deeper"),
        (".".join("a" * (DEEPEST + 2)) + " = 1", "nested deeper"),
    ],
)
def test_damaged_toml_is_a_parse_error(text: str, found: str) -> None:
    with pytest.raises(ParseError, match=found):
        parse_toml(text)


@pytest.mark.parametrize(
    ("parse", "text"), [(parse_json, "[" * DEEPEST + "]" * DEEPEST), (parse_toml, "a = 1")]
)
def test_the_deepest_allowed_value_is_read(parse: Callable[[str], Any], text: str) -> None:
    assert parse(text)


def test_messages_are_short_single_lines() -> None:
    with pytest.raises(ParseError) as caught:
        parse_toml(f'a = "{"x" * 5000}')
    assert len(str(caught.value)) <= 200
    assert "\n" not in str(caught.value)


def test_nan_is_null_where_tables_are_read() -> None:
    assert parse_json('{"a": NaN, "b": [NaN]}', nan_is_null=True) == {"a": None, "b": [None]}
    with pytest.raises(ParseError, match="Infinity is not JSON"):
        parse_json('{"a": Infinity}', nan_is_null=True)


def test_dots_in_a_comment_are_no_depth() -> None:
    assert parse_toml(f"# {'.' * 200}\na = 1") == {"a": 1}

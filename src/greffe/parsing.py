"""JSON and TOML. Texts from anyone are parsed: every problem is one ParseError.

The parsers of the standard library raise four kinds of exceptions, accept numbers that are no
numbers, and return trees so deep that later code fails on them.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from typing import Any, NoReturn

DEEPEST = 100
"""Levels of nesting; no file that greffe writes has more than a dozen."""


class ParseError(ValueError):
    """Text that is not what it should be; the message is one line for the user."""


def parse_json(data: bytes | str, *, nan_is_null: bool = False) -> Any:
    """Return the value of a JSON text; NaN, Infinity and an object with a key twice are errors.

    With `nan_is_null`, NaN is None: Python's json writes it for the missing values of a table.
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        value = (_TABLE_DECODER if nan_is_null else _DECODER).decode(text)
    except RecursionError:
        raise _too_deep() from None
    except ParseError:
        raise
    except ValueError as error:  # invalid JSON, invalid UTF-8, an integer of thousands of digits
        raise ParseError(_one_line(error)) from None
    if "[" in text or text.find("{", 1) > 0:  # not so in most lines of a table: they are flat
        _check_depth(value)
    return value


def format_json(value: Any, indent: int | None = None, *, ascii_only: bool = False) -> str:
    """Return a value as JSON; a number that is not finite is a bug, and a ValueError."""
    return json.dumps(value, indent=indent, ensure_ascii=ascii_only, allow_nan=False)


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tree of a TOML text."""
    # tomllib needs quadratic time for a key of many parts: minutes, before its depth is known.
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    if any(part.count(".") > DEEPEST for line in lines for part in line.split("=")):
        raise _too_deep()
    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise ParseError(_one_line(error)) from None
    _check_depth(tree)
    return tree


def _refuse_constant(name: str) -> NoReturn:
    raise ParseError(f"{name} is not JSON")


def _null_if_nan(name: str) -> None:
    if name != "NaN":
        _refuse_constant(name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ParseError(f"the key {twice[:40]!r} occurs twice in one object")
    return made


# A decoder that is made once is twice as fast on short texts as json.loads with the same options.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_object)
_TABLE_DECODER = json.JSONDecoder(parse_constant=_null_if_nan, object_pairs_hook=_object)


def _check_depth(value: Any) -> None:
    """Raise a ParseError if the value is nested deeper than DEEPEST levels."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        if not level:
            return
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
    if level:
        raise _too_deep()


def _too_deep() -> ParseError:
    return ParseError(f"nested deeper than {DEEPEST} levels")


def _one_line(error: ValueError) -> str:
    text = str(error)
    if "integer string conversion" in text:
        return "an integer of thousands of digits"
    return text if len(text) <= 200 else f"{text[:199]}…"

"""Texts from anyone, made safe to show: in a terminal, in Markdown."""

from __future__ import annotations

import re

_MARKDOWN_SIGNS = re.compile(r"([\\`*_\[\]<>|#~])")
_TERMINAL_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What makes a terminal do something or reorders the line; tabs and line ends are harmless."""


def markdown_text(text: str) -> str:
    """Return text on one line, escaped for Markdown."""
    return _MARKDOWN_SIGNS.sub(r"\\\1", _one_line(text).replace("&", "&amp;"))


def markdown_code(text: str) -> str:
    """Return text on one line as code, for a cell of a Markdown table too."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence, space = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{space}{_one_line(text)}{space}{fence}".replace("|", r"\|")


def terminal_text(text: str) -> str:
    """Return text whose control characters are written as escapes, such as `\\x1b`."""
    return _TERMINAL_CONTROLS.sub(lambda match: ascii(match[0])[1:-1], text)


def _one_line(text: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", text)  # no-break spaces stay

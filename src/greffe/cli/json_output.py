"""JSON on standard output."""

from __future__ import annotations

import sys
from typing import Any

from greffe.parsing import format_json


def print_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON, completely: what standard output cannot encode is escaped."""
    text = format_json(value, indent)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # another encoding than UTF-8, or a lone surrogate
        text = format_json(value, indent, ascii_only=True)
    print(text, flush=True)

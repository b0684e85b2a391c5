"""Correct the hashes that cover an input: otherwise every change would be noticed by its hash."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from greffe.data.pieces import canonical


def sha256(data: bytes) -> str:
    """Return the hash as a hex string."""
    return hashlib.sha256(data).hexdigest()


def fingerprint(tokenizer: bytes) -> str:
    """Return a tokenizer's fingerprint; of one that cannot be parsed, just any."""
    try:
        return sha256(canonical(json.loads(tokenizer)).encode())
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return sha256(tokenizer)


def set_value(path: Path, value: Any, *keys: Any) -> None:
    """Change one value in a JSON file."""
    tree = json.loads(path.read_bytes())
    parent = tree
    for key in keys[:-1]:
        parent = parent[key]
    parent[keys[-1]] = value
    path.write_text(json.dumps(tree), "utf-8")

"""What a folder holds, file by file, without what differs between two undisturbed runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TIMES = {
    *("seconds", "tokens_per_second", "pretraining_seconds", "created", "command"),
    "memory_bytes",
}
"""Keys of JSON objects that hold times, the command line or the memory that was used."""
PAGES = (".md", ".html", ".csv")
"""Pages hold times in their text; what they are made from is compared."""

Fingerprint = Mapping[str, str]


def fingerprint(folder: Path, *, is_exact: bool = False) -> Fingerprint:
    """Return the hash of each file below a folder; empty folders count too."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir():
            if not any(path.iterdir()):
                found[name] = "an empty folder"
            continue
        found[name] = hashlib.sha256(path.read_bytes() if is_exact else _content(path)).hexdigest()
    return found


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix in PAGES:
        return b"a page" if data else b""
    if path.suffix == ".json":
        return _canonical(json.loads(data))
    if path.suffix == ".jsonl":
        return b"\n".join(_canonical(json.loads(line)) for line in data.splitlines())
    return data


def _canonical(value: Any) -> bytes:
    return json.dumps(_timeless(value), sort_keys=True).encode()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(child) for name, child in value.items() if name not in TIMES}
    return [_timeless(child) for child in value] if isinstance(value, list) else value


def differences(expected: Fingerprint, found: Fingerprint) -> tuple[list[str], list[str]]:
    """Return the files that are missing or differ, and those that should not be there."""
    wrong = [name for name, digest in expected.items() if found.get(name) != digest]
    return wrong, [name for name in found if name not in expected]

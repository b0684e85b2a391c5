"""Random changes of JSON and TOML values: other types, extreme numbers, missing or new keys."""

from __future__ import annotations

import json
import tomllib
from copy import deepcopy
from random import Random
from typing import Any

import tomli_w

from tools.fuzz.byte_changes import change_bytes

TEXTS = ("", " ", "\0", "\n", "\ud800", "é" * 3000, "../base", "/dev/zero", ".", "NaN", "{}", "%s")
VALUES: tuple[Any, ...] = (
    *(None, True, False, [], {}, [[]], {"": None}, [None] * 50, "1", 0, -1, 1, 0.5),
    *(2**31, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400, 1e308, -1e308, 5e-324, 1e-9),
    *(float("nan"), float("inf"), -float("inf")),
    *TEXTS,
)
BYTES_INSTEAD = 0.25
"""Fraction of inputs whose text is changed instead of its values."""


def change_json(random: Random, data: bytes) -> bytes:
    """Return JSON with random values changed, or the text itself changed."""
    if random.random() < BYTES_INSTEAD:
        return change_bytes(random, data)
    tree = _changed(random, json.loads(data))
    if random.random() < 0.02:
        return b"[" * 5000 + json.dumps(tree).encode() + b"]" * 5000
    return json.dumps(tree).encode()


def change_json_line(random: Random, data: bytes) -> bytes:
    """Return JSON lines of which one is changed."""
    lines = data.splitlines(keepends=True)
    place = random.randrange(len(lines))
    lines[place] = change_json(random, lines[place]).rstrip(b"\n") + b"\n"
    if random.random() < 0.2:
        random.shuffle(lines)
    return b"".join(lines)


def change_toml(random: Random, data: bytes) -> bytes:
    """Return TOML with random values changed, or the text itself changed."""
    if random.random() < BYTES_INSTEAD:
        return change_bytes(random, data)
    tree = _changed(random, tomllib.loads(data.decode()))
    try:
        return tomli_w.dumps(tree).encode("utf-8", "surrogatepass")
    except (TypeError, AttributeError, ValueError):  # TOML has no null
        return change_bytes(random, data)


def _changed(random: Random, tree: Any) -> Any:
    for _ in range(min(1 + int(random.expovariate(1.0)), 6)):
        tree = _change_one(random, tree)
    return tree


def _change_one(random: Random, tree: Any) -> Any:
    """Change a random value; the containers on the way to it are changed in place."""
    if not isinstance(tree, dict | list) or not tree:
        return _value(random)
    parent, key = _walk(random, tree)
    action = random.randrange(8)
    if action == 0:
        del parent[key]
    elif action == 1 and isinstance(parent, dict):
        parent[random.choice((*TEXTS, f"{key}s", "kind", "format"))] = parent.pop(key)
    elif action == 2:
        other, name = _walk(random, tree)
        parent[key] = json.loads(json.dumps(other[name]))
    elif action == 3 and isinstance(parent, list):
        parent[key:key] = [parent[key]] * random.choice((1, 2, 300))
    elif action == 4:
        parent[key] = random.choice(([parent[key]], {"value": parent[key]}, str(parent[key])))
    elif action == 5 and isinstance(parent[key], int | float):
        value = parent[key]
        parent[key] = random.choice((-value, value + 1, value - 1, value * 1000))
    else:
        parent[key] = _value(random)
    return tree


def _value(random: Random) -> Any:
    return deepcopy(random.choice(VALUES))


def _walk(random: Random, tree: Any) -> tuple[Any, Any]:
    """Return a container and one of its keys: as likely near the root as deep in a long list."""
    while True:
        key = random.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
        child = tree[key]
        if not isinstance(child, dict | list) or not child or random.random() < 0.2:
            return tree, key
        tree = child

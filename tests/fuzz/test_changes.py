"""Changes of inputs: the same for the same seed, different otherwise, and bounded."""

from __future__ import annotations

import json
from random import Random

from tools.fuzz.byte_changes import LARGEST, change_bytes
from tools.fuzz.tree_changes import change_json, change_json_line, change_toml

JSON = json.dumps({"a": [1, 2.5, {"b": "text"}], "c": None, "d": True}).encode()
EXAMPLES = {
    change_bytes: b"some bytes \0\xff",
    change_json: JSON,
    change_json_line: JSON + b"\n" + JSON + b"\n",
    change_toml: b'a = 1\n[b]\nc = "text"\nd = [1, 2]\n',
}


def test_changes_follow_from_the_seed():
    for change, example in EXAMPLES.items():
        first, again = ([change(Random(seed), example) for seed in range(200)] for _ in range(2))
        assert first == again
        assert len(set(first)) > 100
        assert example not in first[:5]


def test_inputs_do_not_grow_without_end():
    data = b"0123456789" * 100
    for seed in range(2000):
        data = change_bytes(Random(seed), data or b"0123456789" * 100)
        assert len(data) <= LARGEST

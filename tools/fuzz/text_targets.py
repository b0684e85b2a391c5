"""Texts: as arguments and on standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from unittest import mock

from tools.fuzz.byte_changes import WORDS, change_bytes
from tools.fuzz.targets import Action, Target, as_argument, nothing, run_command

EXAMPLES = ("Un livre magnifique.", "Ce roman est <mask> et <mask>.", "▁a\u200d👍🏽 العربية\u0301")
MARKS = (
    b"<mask>",
    b"<sos>",
    b"<0xFF>",
    b"\xe2\x96\x81",
    b"\xcc\x81" * 50,
    b"\xf0\x9f\x91\x8d",
    *WORDS,
)


def _examples(world: Path) -> Sequence[bytes]:
    return [text.encode() for text in EXAMPLES]


def _change(random: Random, data: bytes) -> bytes:
    return change_bytes(random, data, MARKS)


def _as_words(data: bytes) -> Sequence[Action]:
    """Return the commands that take a text as an argument, which cannot hold a NUL."""
    text = as_argument(data).replace("\0", " ")
    return [
        partial(run_command, "predict", "--format", "jsonl", "classifier", "--", text),
        partial(run_command, "predict", "--long", "cut", "classifier", "--", text),
        partial(run_command, "predict", "--format", "csv", "linear", "--", text),
        partial(run_command, "fill", "--json", "base", "--", text),
        partial(run_command, "generate", "--tokens", "5", "base", "--", text),
    ]


def _as_standard_input(data: bytes) -> Sequence[Action]:
    def read(*words: str) -> None:
        with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8")):
            run_command(*words)

    return [
        partial(read, "predict", "classifier", "--format", "jsonl"),
        partial(read, "predict", "linear", "--input", "-", "--encoding", "latin-1"),
    ]


TARGETS = tuple(
    Target(
        name=name,
        examples=_examples,
        change=_change,
        place=nothing,
        actions=actions,
        parts=("base", "classifier", "linear"),
    )
    for name, actions in (("text-argument", _as_words), ("text-input", _as_standard_input))
)

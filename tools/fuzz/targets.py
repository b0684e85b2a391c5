"""Target: one kind of input, with valid examples, how they are changed, and what reads them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import count
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import typer.main

from greffe import cli

_COMMAND_MODULE = import_module("greffe.cli.main")  # greffe.cli.main is the function

Action = Callable[[], object]
"""Reads an input that was placed in the current folder."""


@dataclass(frozen=True)
class Target:
    """One kind of input."""

    name: str
    examples: Callable[[Path], Sequence[bytes]]
    """Returns valid inputs, made from the world in a folder."""
    change: Callable[[Random, bytes], bytes]
    """Returns an input with random changes."""
    place: Callable[[Path, bytes], None]
    """Writes the input into a folder that has the parts of the world."""
    actions: Callable[[bytes], Sequence[Action]]
    """Returns everything that reads such an input."""
    parts: tuple[str, ...] = ()
    """Files and folders of the world that are copied next to the input."""
    written: tuple[str, ...] = ("out",)
    """Files and folders that the actions may change."""
    weight: float = 1.0
    """Fraction of all inputs, relative to other targets."""

    def inputs(self, world: Path, seed: int) -> Iterator[bytes]:
        """Yield changed examples without end."""
        examples = self.examples(world)
        for number in count():
            random = Random(f"{seed} {self.name} {number}")
            yield self.change(random, random.choice(examples) if examples else b"")


def run_command(*words: str) -> None:
    """Run the command line as its entry point does."""
    with (
        mock.patch.object(sys, "argv", ["greffe", *words]),
        mock.patch.object(_COMMAND_MODULE, "app", built_command()),
    ):
        cli.main()


@cache
def built_command() -> Any:
    """Return greffe's command with its verbs and flags."""
    # typer builds all commands anew at each call, which takes longer than reading most inputs.
    return typer.main.get_command(_COMMAND_MODULE.app)


def commands(*lines: str) -> Callable[[bytes], Sequence[Action]]:
    """Return the actions that run these commands, whatever the input is."""
    split = [shlex.split(line) for line in lines]

    def actions(data: bytes) -> Sequence[Action]:
        return [partial(run_command, *words) for words in split]

    return actions


def file_at(*path: str) -> Callable[[Path], Sequence[bytes]]:
    """Return the examples that are the content of files of the world."""
    return lambda world: [(world / name).read_bytes() for name in path]


def write_to(name: str) -> Callable[[Path, bytes], None]:
    """Return a function that writes an input to a file of the folder."""

    def place(folder: Path, data: bytes) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

    return place


def nothing(folder: Path, data: bytes) -> None:
    """Write nothing: the input is part of the command."""


def as_argument(data: bytes) -> str:
    """Return the bytes as Python decodes an argument of a command."""
    return data.decode("utf-8", "surrogateescape")

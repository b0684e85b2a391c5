"""What every case starts from: the inputs, and what an undisturbed run of each verb writes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from tools.torture.fingerprint import Fingerprint, fingerprint
from tools.torture.processes import run
from tools.torture.verbs import OUT, VERBS, Verb, write_texts

Start = Literal["empty", "overwrite", "finished"]
"""What the command finds: nothing; a finished output, to replace; the same, to leave as it is."""


@dataclass(frozen=True)
class Undisturbed:
    """The result of one verb, and its durable operations for each start."""

    verb: Verb
    out: Path
    files: Fingerprint
    seconds: float
    operations: Mapping[Start, Sequence[str]]
    is_disturbed: bool
    """False for a verb that is only needed for the inputs of others."""


@dataclass(frozen=True)
class Workshop:
    """The folder of a torture: inputs that no command may change, and results to compare with."""

    folder: Path
    undisturbed: Mapping[str, Undisturbed]
    sources: Fingerprint

    @property
    def inputs(self) -> Path:
        """The folder of the inputs."""
        return self.folder / "inputs"

    def are_inputs_unchanged(self) -> bool:
        """Return whether every input is what it was, byte by byte."""
        return fingerprint(self.inputs, is_exact=True) == self.sources


def first_option(verb: Verb, start: str) -> str:
    """Return the option of the first command: none, to replace, or to continue what is there."""
    return {"empty": "", "overwrite": "--overwrite", "finished": verb.again}[start]


def starts(verb: Verb) -> tuple[Start, ...]:
    """Return the starts that differ for a verb: not all can both replace and resume."""
    if verb.name.startswith("report"):
        return ("empty", "finished")
    return ("empty", "overwrite") if verb.again == "--overwrite" else get_args(Start)


def open_workshop(folder: Path, names: Sequence[str]) -> Workshop:
    """Make the inputs and run each verb undisturbed; `names` are those that will be disturbed."""
    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    write_texts(inputs)
    undisturbed = {}
    for verb in VERBS:
        if verb.name in names or verb.gives:
            undisturbed[verb.name] = _run_undisturbed(
                verb, inputs, folder / "undisturbed", is_disturbed=verb.name in names
            )
        if verb.gives:
            shutil.copytree(undisturbed[verb.name].out, inputs / verb.gives)
    return Workshop(folder, undisturbed, fingerprint(inputs, is_exact=True))


def _run_undisturbed(verb: Verb, inputs: Path, folder: Path, *, is_disturbed: bool) -> Undisturbed:
    place = folder / verb.name
    place.mkdir(parents=True)
    operations: dict[Start, Sequence[str]] = {}
    seconds = 0.0
    for start in starts(verb) if is_disturbed else starts(verb)[:1]:
        ending = run(verb.command(inputs, first_option(verb, start)), place)
        if ending.code:
            raise SystemExit(f"{verb.name} fails undisturbed, {start}:\n{ending.err}")
        operations[start] = ending.operations
        seconds = seconds or ending.seconds
    files = fingerprint(place / OUT, is_exact=verb.is_exact)
    return Undisturbed(verb, place / OUT, files, seconds, operations, is_disturbed)

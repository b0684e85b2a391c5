"""Exported folders: their manifests, and the lists of terms, with the hash corrected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tools.fuzz.signing import set_value, sha256
from tools.fuzz.targets import Target, commands, file_at, write_to
from tools.fuzz.tree_changes import change_json

READ = ("predict {folder} 'Un livre magnifique.' --format jsonl", "evaluate {folder} --data {data}")


def _read(folder: str) -> tuple[str, ...]:
    return tuple(line.format(folder=folder, data="valid.tsv") for line in READ)


def _signed(folder: str, name: str) -> Callable[[Path, bytes], None]:
    """Return what writes a file of an exported folder, and its hash into the manifest."""

    def place(here: Path, data: bytes) -> None:
        (here / folder / name).write_bytes(data)
        set_value(here / folder / "export.json", sha256(data), "files", name)

    return place


TARGETS = (
    *(
        Target(
            name=f"export-{folder}",
            examples=file_at(f"{folder}/export.json"),
            change=change_json,
            place=write_to(f"{folder}/export.json"),
            actions=commands(*_read(folder)),
            parts=(folder, "valid.tsv"),
        )
        for folder in ("exported", "exported-ensemble")
    ),
    Target(
        name="export-terms",
        examples=file_at("exported-linear/terms.json"),
        change=change_json,
        place=_signed("exported-linear", "terms.json"),
        actions=commands(*_read("exported-linear")),
        parts=("exported-linear", "valid.tsv"),
    ),
)

"""Tables and texts in every format, plain and compressed."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

import pyarrow
import pyarrow.parquet
import zstandard

from tools.fuzz.byte_changes import change_bytes
from tools.fuzz.run_targets import ONE_STEP
from tools.fuzz.targets import Action, Target, commands, file_at, write_to
from tools.fuzz.tree_changes import change_json, change_json_line

LABELLED = (
    "doctor --data {file} --json",
    "doctor --data train.tsv --test {file} --from base --json",
    "evaluate classifier --data {file} --json",
    "evaluate linear --data {file} --text-column text --label-column label --json",
    "linear --data {file} --out out",
    f"finetune --from base --data {{file}} --out out {ONE_STEP}",
)
TEXTS = (
    "predict classifier --input {file} --format jsonl",
    "predict linear --input {file} --format csv --encoding latin-1",
    "predict linear --input {file} --skip-bad-rows --out out.jsonl",
    "prepare {file} --out out --vocab 300 --workers 1",
    "prepare {file} --out out --vocab 300 --workers 1 --documents paragraph --encoding utf-16",
)
KEPT = (
    "predict linear --input {file} --text-column text --id-column id --out out.parquet",
    "predict linear --input {file} --text-column label --keep id --out out.csv",
)
PARQUET_ROWS = [
    {"label": label, "text": f"Un livre {n}.", "id": n, "score": n / 2, "tags": ["a", None]}
    for n, label in enumerate(["positif", "négatif"] * 4)
]
PARTS = ("train.tsv", "base", "classifier", "linear")


MANY_PARTS = ("a\n", "\r", ",")
"""Texts of which a megabyte is a million lines or cells: reading them takes a second."""
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": partial(gzip.compress, compresslevel=1),
    "xz": partial(lzma.compress, preset=0),
    "zst": zstandard.compress,
}


def _table(suffix: str, lines: tuple[str, ...] = (*LABELLED, *TEXTS), weight: float = 1) -> Target:
    file = f"table.{suffix}"
    return Target(
        name=f"table-{suffix}",
        examples=file_at(f"tables/{file}"),
        change=change_json_line if suffix == "jsonl" else change_bytes,
        place=write_to(file),
        actions=commands(*(line.format(file=file) for line in lines)),
        parts=PARTS,
        weight=weight,
    )


def _pair(name: str, changed: str, other: str) -> Target:
    """Return the target of one of the two files of SentencePiece reviews and their labels."""

    def place(folder: Path, data: bytes) -> None:
        (folder / changed).write_bytes(data)
        (folder / "tables" / other).rename(folder / other)

    return Target(
        name=name,
        examples=file_at(f"tables/{changed}"),
        change=change_bytes,
        place=place,
        actions=commands(*(line.format(file="table.review.spm") for line in LABELLED)),
        parts=(*PARTS, f"tables/{other}"),
        weight=0.5,
    )


def _place_parquet(folder: Path, data: bytes) -> None:
    """Write rows in JSON as a Parquet file with whatever types they have."""
    try:
        rows = pyarrow.Table.from_pylist(json.loads(data))
        pyarrow.parquet.write_table(rows, folder / "table.parquet")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError, OverflowError):
        (folder / "table.parquet").write_bytes(data)  # rows that Parquet cannot hold
    except pyarrow.ArrowException:
        (folder / "table.parquet").write_bytes(data)


def _change_bomb(random: Random, data: bytes) -> bytes:
    text = random.choice((*MANY_PARTS, "\0", "a", "a ", '"', "[", "é", '{"a":'))
    bomb = {
        "suffix": random.choice(sorted(PACKERS)),
        "kind": random.choice(("txt", "csv", "tsv", "jsonl")),
        "text": text,
        "megabytes": random.choice((1, 3) if text in MANY_PARTS else (1, 8, 70)),
    }
    return json.dumps(bomb).encode()


def _bomb_file(data: bytes) -> str:
    bomb = json.loads(data)
    return f"bomb.{bomb['kind']}.{bomb['suffix']}"


def _place_bomb(folder: Path, data: bytes) -> None:
    """Write a small compressed file that holds a text many times."""
    bomb = json.loads(data)
    unit = bomb["text"].encode()
    content = unit * ((bomb["megabytes"] << 20) // len(unit))
    (folder / _bomb_file(data)).write_bytes(PACKERS[bomb["suffix"]](content))


def _read_bomb(data: bytes) -> Sequence[Action]:
    file = _bomb_file(data)
    lines = (
        "doctor --data {file} --json",
        "evaluate classifier --data {file} --text-column a --label-column b --json",
    )
    return commands(*(line.format(file=file) for line in lines))(data)


TARGETS = (
    _table("csv", weight=2),
    _table("tsv", weight=2),
    _table("jsonl", weight=2),
    _table("parquet", weight=2),
    _table("txt", TEXTS),
    _table("review.spm", TEXTS),
    _pair("pair-reviews", "table.review.spm", "table.label"),
    _pair("pair-labels", "table.label", "table.review.spm"),
    *(_table(f"csv.{packed}", weight=0.5) for packed in PACKERS),
    *(_table(f"txt.{packed}", TEXTS, weight=0.3) for packed in PACKERS),
    _table("parquet.gz", weight=0.2),
    Target(
        name="parquet-types",
        examples=lambda world: [json.dumps(PARQUET_ROWS).encode()],
        change=change_json,
        place=_place_parquet,
        actions=commands(
            *(line.format(file="table.parquet") for line in (*LABELLED, *TEXTS, *KEPT))
        ),
        parts=PARTS,
    ),
    Target(
        name="table-bomb",
        examples=lambda world: [],
        change=_change_bomb,
        place=_place_bomb,
        actions=_read_bomb,
        parts=("classifier",),
        weight=0.05,
    ),
)

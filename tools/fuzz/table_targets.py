"""Tables and texts in every format, plain and compressed."""

from __future__ import annotations

from tools.fuzz.byte_changes import change_bytes
from tools.fuzz.run_targets import ONE_STEP
from tools.fuzz.targets import Target, commands, file_at, write_to
from tools.fuzz.tree_changes import change_json_line

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
    "prepare {file} --out out --vocab 300 --workers 1",
    "prepare {file} --out out --vocab 300 --workers 1 --documents paragraph --encoding utf-16",
)
PARTS = ("train.tsv", "base", "classifier", "linear")


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


TARGETS = (
    _table("csv", weight=2),
    _table("tsv", weight=2),
    _table("jsonl", weight=2),
    _table("parquet", weight=2),
    _table("txt", TEXTS),
    _table("review.spm", TEXTS),
    *(_table(f"csv.{packed}", weight=0.5) for packed in ("gz", "xz", "zst")),
    *(_table(f"txt.{packed}", TEXTS, weight=0.3) for packed in ("gz", "xz", "zst")),
    _table("parquet.gz", weight=0.2),
)

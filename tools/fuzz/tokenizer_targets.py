"""Tokenizers: tokenizer.json, SentencePiece models and fairseq dictionaries."""

from __future__ import annotations

from pathlib import Path

from tools.fuzz.byte_changes import change_bytes
from tools.fuzz.signing import fingerprint, set_value
from tools.fuzz.targets import Target, commands, file_at, write_to
from tools.fuzz.tree_changes import change_json

PREPARE = "prepare text.txt --out out --workers 1 --tokenizer"


def _place_in_run(folder: Path, data: bytes) -> None:
    (folder / "base" / "tokenizer.json").write_bytes(data)
    set_value(folder / "base" / "run.json", fingerprint(data), "lineage", "tokenizer")


TARGETS = (
    Target(
        name="tokenizer",
        examples=file_at("corpus/tokenizer.json"),
        change=change_json,
        place=write_to("tokenizer.json"),
        actions=commands(f"{PREPARE} tokenizer.json"),
        parts=("text.txt",),
        weight=2,
    ),
    Target(
        name="tokenizer-run",
        examples=file_at("base/tokenizer.json"),
        change=change_json,
        place=_place_in_run,
        actions=commands("generate base Ce --tokens 3", "fill base 'Ce <mask>.' --json"),
        parts=("base",),
        weight=2,
    ),
    Target(
        name="sentencepiece",
        examples=file_at("bpe.model", "unigram.model"),
        change=change_bytes,
        place=write_to("a.model"),
        actions=commands(f"{PREPARE} a.model"),
        parts=("text.txt",),
    ),
    Target(
        name="dictionary",
        examples=file_at("bpe.dict.txt"),
        change=change_bytes,
        place=write_to("dict.txt"),
        actions=commands(f"{PREPARE} bpe.model --dictionary dict.txt"),
        parts=("text.txt", "bpe.model"),
    ),
)

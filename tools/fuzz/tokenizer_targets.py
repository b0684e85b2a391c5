"""Tokenizers: tokenizer.json, SentencePiece models and fairseq dictionaries."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from tools.fuzz.byte_changes import change_bytes
from tools.fuzz.foreign_tokenizers import NAMES
from tools.fuzz.signing import fingerprint, set_value
from tools.fuzz.targets import Target, commands, file_at, write_to
from tools.fuzz.tree_changes import change_json

PIECES = (
    "",
    " ",
    "▁",
    "<s>",
    "<unk>",
    "<0x41>",
    "<0xZZ>",
    "é" * 500,
    "\0",
    "\n",
    "<mask>",
    "(",
    "a",
)
PREPARE = "prepare text.txt --out out --workers 1 --tokenizer"


def _place_in_run(folder: Path, data: bytes) -> None:
    (folder / "base" / "tokenizer.json").write_bytes(data)
    set_value(folder / "base" / "run.json", fingerprint(data), "lineage", "tokenizer")


def _change_model(random: Random, data: bytes) -> bytes:
    """Change the fields of a SentencePiece model, or any bytes."""
    if random.random() < 0.4:
        return change_bytes(random, data)
    # Without type information: import_module returns Any.
    protobuf: Any = import_module("sentencepiece.sentencepiece_model_pb2")
    model = protobuf.ModelProto.FromString(data)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(model.pieces))
        piece = model.pieces[place]
        match random.randrange(8):
            case 0:
                piece.piece = random.choice(PIECES)
            case 1:
                piece.score = random.choice((float("nan"), float("inf"), -1e38, 0.0, 1e-40))
            case 2:
                piece.type = random.randint(1, 6)
            case 3:
                del model.pieces[place + 1 :]
            case 4:
                model.pieces.add().CopyFrom(piece)
            case 5:
                model.trainer_spec.model_type = random.randint(1, 4)
            case 6:
                rules = model.normalizer_spec.precompiled_charsmap
                model.normalizer_spec.precompiled_charsmap = change_bytes(random, rules)
            case _:
                model.ClearField(random.choice(("trainer_spec", "normalizer_spec")))
    return bytes(model.SerializeToString())


TARGETS = (
    Target(
        name="tokenizer",
        examples=file_at("corpus/tokenizer.json"),
        change=change_json,
        place=write_to("tokenizer.json"),
        actions=commands(f"{PREPARE} tokenizer.json"),
        parts=("text.txt",),
        weight=4,
    ),
    Target(
        name="tokenizer-run",
        examples=file_at("base/tokenizer.json"),
        change=change_json,
        place=_place_in_run,
        actions=commands("generate base Ce --tokens 3", "fill base 'Ce <mask>.' --json"),
        parts=("base",),
        weight=3,
    ),
    Target(
        name="tokenizer-foreign",
        examples=file_at(*(f"{name}.json" for name in NAMES)),
        change=change_json,
        place=write_to("tokenizer.json"),
        actions=commands(f"{PREPARE} tokenizer.json"),
        parts=("text.txt",),
        weight=3,
    ),
    Target(
        name="sentencepiece",
        examples=file_at("bpe.model", "unigram.model"),
        change=_change_model,
        place=write_to("a.model"),
        actions=commands(f"{PREPARE} a.model"),
        parts=("text.txt",),
        weight=3,
    ),
    Target(
        name="dictionary",
        examples=file_at("bpe.dict.txt"),
        change=change_bytes,
        place=write_to("dict.txt"),
        actions=commands(f"{PREPARE} bpe.model --dictionary dict.txt"),
        parts=("text.txt", "bpe.model"),
        weight=2,
    ),
)

"""Convert a SentencePiece model, with or without a fairseq dict.txt, to a tokenizer's JSON.

Reading the model requires the libraries sentencepiece and protobuf; using the tokenizer does not.
"""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from typing import Any

from tokenizers import Regex, normalizers, pre_tokenizers
from tokenizers.models import BPE, Model, Unigram

from greffe.data.charsmap import check_charsmap
from greffe.data.pieces import (
    BYTE_PIECES,
    SEVERAL_SPACES,
    SPACE,
    SPACES_AFTER,
    SPACES_AROUND,
    SPECIALS,
    SPELLED_PIECE,
    any_of,
    assemble,
)
from greffe.errors import CorruptError, DataError, MismatchError, MissingExtraError
from greffe.storage import read_file

# Kinds of pieces in the protobuf. Control pieces are replaced by greffe's; unused ones never occur.
_NORMAL, _USER_DEFINED, _BYTE = 1, 4, 6
_KINDS = (_NORMAL, _USER_DEFINED, _BYTE)
_UNIGRAM, _BPE = 1, 2
_LONGEST = 1_000  # characters; the time to find merges grows with the square
# fairseq pads dictionaries to a round size with these.
_FILLER = "madeupword"


def convert(model: Path, dictionary: Path | None) -> str:
    """Return the JSON of a tokenizer that splits text as the SentencePiece model does.

    Ids: SPECIALS, then the model's pieces in order; with a dictionary, its four specials, then its
    lines in order, as in fairseq.
    """
    proto = _read_model(model)
    scores = {
        item.piece: item.score
        for item in proto.pieces
        if item.type in _KINDS and item.piece not in SPECIALS
    }
    symbols = [
        item.piece for item in proto.pieces if item.type == _USER_DEFINED and item.piece in scores
    ]
    specials: tuple[str, ...] = SPECIALS
    pieces = list(scores)
    if dictionary is not None:
        specials = SPECIALS[:4]
        pieces = _read_dictionary(dictionary)
        _check_same(pieces, scores, model, dictionary)
    vocabulary = [*specials, *pieces]
    has_bytes = set(BYTE_PIECES) <= scores.keys()
    build = _bpe if proto.trainer_spec.model_type == _BPE else _unigram
    return assemble(
        build(vocabulary, scores, symbols, has_bytes),
        _normalizer(proto.normalizer_spec),
        _splitter(pieces, symbols),
        specials,
    )


def _read_model(path: Path) -> Any:
    try:
        # Neither module has type information; import_module returns Any.
        message = import_module("google.protobuf.message")
        protobuf = import_module("sentencepiece.sentencepiece_model_pb2")
    except ImportError:
        raise MissingExtraError(
            "sentencepiece", "sentencepiece", "Importing a SentencePiece model"
        ) from None
    content = _read(path, "SentencePiece model")
    proto = protobuf.ModelProto()
    try:
        proto.ParseFromString(content)
    except message.DecodeError as error:
        raise CorruptError(
            f"{path} is damaged or not a SentencePiece model.", found=str(error)
        ) from None
    parts = ("trainer_spec", "normalizer_spec")
    missing = [part for part in parts if not proto.HasField(part)]
    if not proto.pieces or missing:
        raise CorruptError(
            f"{path} is truncated or not a SentencePiece model.",
            expected="pieces, trainer_spec and normalizer_spec",
            found=f"{len(proto.pieces)} pieces, no {' and no '.join(missing) or 'piece'}",
        )
    _check_supported(proto, path)
    _check_pieces(proto, path)
    return proto


def _read(path: Path, what: str) -> bytes:
    """Return the content of a file that the user names."""
    try:
        return read_file(path, f"a {what}")
    except CorruptError as error:
        raise DataError(f"The {what} {path} cannot be read.", found=error.found) from None


def _check_supported(proto: Any, path: Path) -> None:
    trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
    problem = (
        "a model that is neither BPE nor Unigram"
        if trainer.model_type not in (_UNIGRAM, _BPE)
        else "spaces at the end of pieces (treat_whitespace_as_suffix)"
        if trainer.treat_whitespace_as_suffix
        else "spaces not written as ▁ (escape_whitespaces off)"
        if not normalizer.escape_whitespaces
        else None
    )
    if problem:
        raise DataError(
            f"{path} cannot be imported.",
            expected="a SentencePiece model of type bpe or unigram",
            found=problem,
        )


def _check_pieces(proto: Any, path: Path) -> None:
    """Check what the library does not: it would compute with any score and any piece."""
    usable = [item for item in proto.pieces if item.type in _KINDS]
    problem = (
        "no piece that occurs in text"
        if not usable
        else "an empty piece, or one that is not UTF-8"  # which protobuf returns as bytes
        if not all(item.piece and isinstance(item.piece, str) for item in usable)
        else f"a piece of more than {_LONGEST} characters"
        if any(len(item.piece) > _LONGEST for item in usable)
        else "a score that is not finite"
        if not all(math.isfinite(item.score) for item in usable)
        else None
    )
    if problem:
        raise CorruptError(
            f"{path} is damaged.", expected="pieces with their scores", found=problem
        )


def _read_dictionary(path: Path) -> list[str]:
    """Return the pieces of a fairseq dictionary, which has a piece and a count per line."""
    try:
        lines = _read(path, "dictionary").decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"The dictionary {path} is not UTF-8 text.", found=str(error)) from None
    pieces: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        piece, _, count = line.rstrip("\r").rpartition(" ")
        if not piece or not count.isdecimal():
            raise DataError(
                f"{path}: line {number} is invalid.",
                expected="a piece, a space and a count",
                found=repr(line[:60]),
            )
        if piece in pieces or piece in SPECIALS:
            where = f"line {pieces[piece]}" if piece in pieces else "the special pieces"
            raise DataError(
                f"{path}: duplicate piece {piece!r} on line {number}.",
                expected="each piece once",
                found=f"also in {where}",
            )
        pieces[piece] = number
    return list(pieces)


def _check_same(pieces: list[str], scores: dict[str, float], model: Path, dictionary: Path) -> None:
    unknown = [p for p in pieces if p not in scores and not p.startswith(_FILLER)]
    missing = list(scores.keys() - set(pieces))
    if unknown or missing:
        raise MismatchError(
            f"{dictionary} is not the dictionary of {model}.",
            expected=f"the model's {len(scores)} pieces, in any order",
            found=f"{len(pieces)} lines; {_some(unknown)} only in the dictionary, "
            f"{_some(missing)} only in the model",
            hint="pass the two files that were created together, or only the model",
        )


def _some(pieces: list[str]) -> str:
    examples = ", ".join(map(repr, sorted(pieces)[:3]))
    return f"{len(pieces)} ({examples})" if pieces else "none"


def _normalizer(spec: Any) -> normalizers.Normalizer:
    steps: list[normalizers.Normalizer] = []
    if spec.precompiled_charsmap:
        try:
            check_charsmap(spec.precompiled_charsmap)
            steps.append(normalizers.Precompiled(spec.precompiled_charsmap))
        except Exception as error:  # the library raises nothing narrower
            raise CorruptError(
                "The SentencePiece model is damaged.",
                expected="a table of normalized characters",
                found=str(error),
            ) from None
    # The space is prepended before spaces are merged: leading spaces then merge with it, while
    # text that continues other text, which gets no space, keeps its own.
    if spec.add_dummy_prefix:
        steps.append(normalizers.Prepend(" "))
    if spec.remove_extra_whitespaces:
        outer = SPACES_AFTER if spec.add_dummy_prefix else SPACES_AROUND
        steps.append(normalizers.Replace(Regex(outer), ""))
        steps.append(normalizers.Replace(Regex(SEVERAL_SPACES), " "))
    steps.append(normalizers.Replace(" ", SPACE))
    return normalizers.Sequence(steps)


def _splitter(pieces: list[str], symbols: list[str]) -> pre_tokenizers.PreTokenizer:
    # Text that spells a special or a byte piece is text: split after its "<", it cannot match.
    steps: list[pre_tokenizers.PreTokenizer] = [
        pre_tokenizers.Split(Regex(SPELLED_PIECE), "isolated")
    ]
    if symbols:  # user-defined pieces are matched first
        steps.insert(0, pre_tokenizers.Split(Regex(any_of(symbols)), "isolated"))
    # If no piece spans a space, splitting into words first is equivalent and much faster.
    if not any(SPACE in piece[1:] for piece in pieces):
        steps.append(pre_tokenizers.Split(SPACE, "merged_with_next"))
    return pre_tokenizers.Sequence(steps)


def _bpe(
    vocabulary: list[str], scores: dict[str, float], symbols: list[str], has_bytes: bool
) -> Model:
    """Express SentencePiece's BPE, which merges the highest-scoring pair, as ordered merges."""
    ids = {piece: id for id, piece in enumerate(vocabulary)}
    merges = [
        (-score, ids[piece[:cut]], ids[piece[cut:]], piece[:cut], piece[cut:])
        for piece, score in scores.items()
        if not (has_bytes and piece in BYTE_PIECES)
        for cut in range(1, len(piece))
        if piece[:cut] in scores and piece[cut:] in scores
    ]
    merges.sort(key=lambda merge: merge[:3])
    return BPE(
        vocab=ids,
        merges=[(left, right) for *_, left, right in merges],
        unk_token="<oov>",
        fuse_unk=True,
        byte_fallback=has_bytes,
        ignore_merges=bool(symbols),  # no merges produce user-defined pieces
    )


def _unigram(
    vocabulary: list[str], scores: dict[str, float], symbols: list[str], has_bytes: bool
) -> Model:
    # Added pieces get the lowest existing score, because the penalty of unknown characters is
    # relative to the lowest score.
    lowest = min(scores.values())
    certain = dict.fromkeys(symbols, 0.0)
    return Unigram(
        [(piece, certain.get(piece, scores.get(piece, lowest))) for piece in vocabulary],
        unk_id=vocabulary.index("<oov>"),
        byte_fallback=has_bytes,
    )

"""A tokenizer of another model as JSON, checked before the `tokenizers` library reads it.

The file is that of the library with one more key, `greffe`: the special tokens by role, and the
number of rows of the embedding. The library ends the whole process on some contents; these are
refused here. It panics on others: see `foreign_backend`.
"""

from __future__ import annotations

import math
from base64 import b64decode
from collections.abc import Callable
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from greffe.config.spec import Spec
from greffe.data.charsmap import check_charsmap
from greffe.data.spelling import all_steps
from greffe.data.tokenizer_file import MOST_PIECES, Piece
from greffe.errors import CorruptError
from greffe.parsing import ParseError, parse_json
from greffe.storage import first_problem

KEY = "greffe"
Role = Literal["cls", "sep", "bos", "eos", "pad", "unk", "mask"]
Tree = dict[str, Any]


class Addition(Spec):
    """What greffe adds to the file of the library."""

    model_config = ConfigDict(strict=True)

    roles: dict[Role, Piece]
    """The special tokens."""
    vocab: Annotated[int, Field(gt=0, le=MOST_PIECES)]
    """Rows of the embedding; there may be fewer pieces."""


class _AddedToken(BaseModel):
    model_config = ConfigDict(strict=True)

    id: Annotated[int, Field(ge=0, lt=MOST_PIECES)]
    content: Piece
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False


class _Parts(BaseModel):
    """The parts that the checks below rely on; the library checks the others."""

    model_config = ConfigDict(strict=True)

    added_tokens: list[_AddedToken] = []
    normalizer: Tree | None = None
    pre_tokenizer: Tree | None = None
    post_processor: Tree | None = None
    decoder: Tree | None = None
    model: Tree


def read_foreign(content: str) -> tuple[Tree, Addition]:
    """Return the JSON as the library reads it and what greffe added; else a CorruptError."""
    try:
        tree = parse_json(content)
        if not isinstance(tree, dict) or KEY not in tree:
            raise _not_usable(f"no key {KEY!r}")
        addition = Addition.model_validate(tree.pop(KEY))
    except ParseError as error:
        raise _not_usable(f"invalid JSON: {error}") from None
    except ValidationError as error:
        raise _not_usable(f"{KEY}.{first_problem(error)}") from None
    return checked(tree), addition


def checked(tree: Any) -> Tree:
    """Return the tree of a tokenizer.json; a CorruptError if the library must not read it."""
    try:
        _Parts.model_validate(tree)
        model = tree["model"] = _with_type(tree["model"])
        _CHECKS[model["type"]](model)
        _check_steps(tree)
    except ValidationError as error:
        raise _not_usable(first_problem(error)) from None
    except ValueError as error:
        raise _not_usable(str(error)) from None
    assert isinstance(tree, dict)
    return tree


# --- models ---------------------------------------------------------------------------------------


def _with_type(model: Tree) -> Tree:
    """Return the model with its type, which old files leave out."""
    kind = model.get("type")
    if kind is None:
        if isinstance(model.get("vocab"), list):
            kind = "Unigram"
        elif "merges" in model:
            kind = "BPE"
        else:
            kind = "WordPiece" if "continuing_subword_prefix" in model else "WordLevel"
    if not isinstance(kind, str) or kind not in _CHECKS:
        raise ValueError(f"model.type: {kind!r:.40} is none of {', '.join(_CHECKS)}")
    return {**model, "type": kind}


def _check_vocabulary(model: Tree) -> None:
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, dict) or not vocabulary:
        _refuse("model.vocab: not an object of pieces and ids")
    seen: dict[int, str] = {}
    for piece, id in vocabulary.items():
        if type(id) is not int or not 0 <= id < MOST_PIECES:
            _refuse(f"model.vocab: {piece!r:.40} has the id {id!r:.40}")
        if id in seen:
            _refuse(f"model.vocab: {seen[id]!r:.40} and {piece!r:.40} have the same id {id}")
        seen[id] = piece


def _check_words(model: Tree) -> None:
    _check_vocabulary(model)
    unknown = model.get("unk_token")
    if not isinstance(unknown, str) or unknown not in model["vocab"]:
        _refuse(f"model.unk_token: {unknown!r:.40} is not in the vocabulary")


def _check_bpe(model: Tree) -> None:
    _check_vocabulary(model)
    merges, prefix = model.get("merges"), model.get("continuing_subword_prefix") or ""
    if not isinstance(merges, list) or not isinstance(prefix, str) or not prefix.isascii():
        _refuse("model.merges or model.continuing_subword_prefix: of another type")
    vocabulary = model["vocab"]
    for merge in merges:
        pair = merge.split(" ") if isinstance(merge, str) else merge
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not all(isinstance(p, str) for p in pair)
        ):
            _refuse(f"model.merges: {merge!r:.40} is not a pair of pieces")
        left, right = pair
        # The library cuts the prefix off without looking; inside a character that ends the process.
        if not right.startswith(prefix):
            _refuse(f"model.merges: {right!r:.40} does not begin with {prefix!r}")
        for piece in (left, right, left + right.removeprefix(prefix)):
            if piece not in vocabulary:
                _refuse(f"model.merges: {piece!r:.40} is not in the vocabulary")


def _check_unigram(model: Tree) -> None:
    vocabulary, unknown = model.get("vocab"), model.get("unk_id")
    if not isinstance(vocabulary, list) or not 0 < len(vocabulary) <= MOST_PIECES:
        _refuse("model.vocab: not a list of pieces and scores")
    for item in vocabulary:
        match item:
            case [str(), float() | int() as score] if math.isfinite(score):
                pass
            case _:
                _refuse(f"model.vocab: {item!r:.40} is not a piece with its score")
    if unknown is not None and (type(unknown) is not int or not 0 <= unknown < len(vocabulary)):
        _refuse(f"model.unk_id: {unknown!r:.40}")


_CHECKS: dict[str, Callable[[Tree], None]] = {
    "WordPiece": _check_words,
    "WordLevel": _check_words,
    "BPE": _check_bpe,
    "Unigram": _check_unigram,
}


# --- steps ----------------------------------------------------------------------------------------


def _check_steps(tree: Tree) -> None:
    for step in all_steps([tree.get("normalizer"), tree.get("pre_tokenizer")]):
        if step["type"] == "Precompiled":
            table = step.get("precompiled_charsmap")
            if not isinstance(table, str):
                _refuse("Precompiled: no table of characters")
            check_charsmap(b64decode(table, validate=True))


def _refuse(found: str) -> NoReturn:
    raise ValueError(found)


def _not_usable(found: str) -> CorruptError:
    return CorruptError(
        "This is not a usable tokenizer.",
        expected="a tokenizer.json of the tokenizers library",
        found=found,
    )

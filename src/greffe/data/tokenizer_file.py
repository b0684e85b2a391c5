"""What a tokenizer.json may hold: the parts that greffe writes, checked before they are used.

The `tokenizers` library accepts much more, and some contents end the whole process: a subword
prefix, for example, makes it cut a merge inside a character. Everything is therefore checked here.
"""

from __future__ import annotations

import math
from base64 import b64decode
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, ValidationError, model_validator

from greffe.config.spec import Spec
from greffe.data.charsmap import check_charsmap
from greffe.data.pieces import SPECIALS, is_known_pattern
from greffe.errors import CorruptError
from greffe.parsing import ParseError, parse_json
from greffe.storage import first_problem

MOST_PIECES = 1_000_000
Id = Annotated[int, Field(ge=0, lt=MOST_PIECES)]
Piece = Annotated[str, Field(min_length=1)]


# --- steps ----------------------------------------------------------------------------------------


class _Step(Spec):
    model_config = ConfigDict(strict=True)


def _known_pattern(pattern: str) -> str:
    if not is_known_pattern(pattern):
        raise ValueError(f"an unknown regular expression: {pattern!r:.60}")
    return pattern


class _StringPattern(_Step):
    String: Piece


class _RegexPattern(_Step):
    Regex: Annotated[str, AfterValidator(_known_pattern)]


_Pattern = _StringPattern | _RegexPattern


class _Nfc(_Step):
    type: Literal["NFC"]


class _Lowercase(_Step):
    type: Literal["Lowercase"]


class _Replace(_Step):
    type: Literal["Replace"]
    pattern: _Pattern
    content: str


class _Prepend(_Step):
    type: Literal["Prepend"]
    prepend: Piece


def _check_base64_charsmap(text: str) -> str:
    check_charsmap(b64decode(text, validate=True))
    return text


class _Precompiled(_Step):
    type: Literal["Precompiled"]
    precompiled_charsmap: Annotated[str, AfterValidator(_check_base64_charsmap)]


_Normalizer = Annotated[
    _Nfc | _Lowercase | _Replace | _Prepend | _Precompiled, Field(discriminator="type")
]


class _Normalizers(_Step):
    type: Literal["Sequence"]
    normalizers: list[_Normalizer]


class _Split(_Step):
    type: Literal["Split"]
    pattern: _Pattern
    behavior: Literal["Isolated", "MergedWithNext"]
    invert: Literal[False]


class _Splits(_Step):
    type: Literal["Sequence"]
    pretokenizers: list[_Split]


class _ByteFallback(_Step):
    type: Literal["ByteFallback"]


class _Fuse(_Step):
    type: Literal["Fuse"]


class _Strip(_Step):
    type: Literal["Strip"]
    content: Literal[" "]
    start: Literal[0, 1]
    stop: Literal[0]


class _Decoders(_Step):
    type: Literal["Sequence"]
    decoders: list[
        Annotated[_Replace | _ByteFallback | _Fuse | _Strip, Field(discriminator="type")]
    ]


class _AddedToken(_Step):
    id: Id
    content: Piece
    single_word: Literal[False]
    lstrip: Literal[False]
    rstrip: Literal[False]
    normalized: Literal[False]
    special: Literal[True]


# --- models ---------------------------------------------------------------------------------------


class _Bpe(_Step):
    type: Literal["BPE"]
    dropout: None = None
    unk_token: Literal["<oov>"]
    continuing_subword_prefix: None = None
    end_of_word_suffix: None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False
    vocab: dict[Piece, Id]
    merges: list[Annotated[list[Piece], Field(min_length=2, max_length=2)]]

    @property
    def ids(self) -> dict[str, int]:
        return self.vocab

    @model_validator(mode="after")
    def _check_merges(self) -> Self:
        for left, right in self.merges:
            for piece in (left, right, left + right):
                if piece not in self.vocab:
                    raise ValueError(f"merges: {piece!r:.40} is not in the vocabulary")
        return self


class _Unigram(_Step):
    type: Literal["Unigram"]
    unk_id: Id
    byte_fallback: bool = False
    vocab: list[Annotated[list[Piece | float], Field(min_length=2, max_length=2)]]

    @property
    def ids(self) -> dict[str, int]:
        return {str(piece): id for id, (piece, _) in enumerate(self.vocab)}

    @model_validator(mode="after")
    def _check_scores(self) -> Self:
        for piece, score in self.vocab:
            if not isinstance(piece, str) or not isinstance(score, float):
                raise ValueError("vocab: an entry is not a piece with its score")
            if not math.isfinite(score):
                raise ValueError(f"vocab: the score of {piece!r:.40} is not finite")
        if self.ids.get("<oov>") != self.unk_id:
            raise ValueError("unk_id: not the id of <oov>")
        return self


class _TokenizerFile(_Step):
    version: Literal["1.0"]
    truncation: None = None
    padding: None = None
    added_tokens: list[_AddedToken]
    normalizer: _Normalizers | _Normalizer | None
    pre_tokenizer: _Splits | _Split
    post_processor: None = None
    decoder: _Decoders
    model: Annotated[_Bpe | _Unigram, Field(discriminator="type")]

    @model_validator(mode="after")
    def _check_vocabulary(self) -> Self:
        ids = self.model.ids
        missing = [name for name in SPECIALS[:4] if name not in ids]
        if missing:
            raise ValueError(f"vocab: no piece {', '.join(missing)}")
        if set(ids.values()) != set(range(len(self.model.vocab))):
            raise ValueError("ids with gaps or used twice")
        other = [token.content for token in self.added_tokens if ids.get(token.content) != token.id]
        if other:
            raise ValueError(f"added_tokens: {other[0]!r:.40} has another id in the vocabulary")
        return self


# --- reading --------------------------------------------------------------------------------------


def read_tree(content: str) -> dict[str, Any]:
    """Return the JSON of a tokenizer that greffe can use; else a CorruptError."""
    try:
        tree = parse_json(content)
        _TokenizerFile.model_validate(tree)
    except ParseError as error:
        raise _not_usable(f"invalid JSON: {error}") from None
    except ValidationError as error:
        raise _not_usable(first_problem(error)) from None
    assert isinstance(tree, dict)
    return tree


def _not_usable(found: str) -> CorruptError:
    return CorruptError(
        "This is not a usable tokenizer.", expected="a tokenizer written by greffe", found=found
    )

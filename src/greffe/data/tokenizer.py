"""Tokenizer: text to ids and back. What the rest of the code knows of any tokenizer.

Two kinds exist: those that greffe trains or converts (`native_tokenizer`), and those of models from
elsewhere (`foreign_tokenizer`). The fingerprint identifies one in shards and checkpoints.
"""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from greffe.data.pieces import LOWERCASE, Step
from greffe.data.tables import text_blocks
from greffe.errors import CorruptError, DataError
from greffe.storage import read_file, write_atomic

__all__ = ["Ids", "MaskedIds", "Tokenizer"]

Ids = NDArray[np.uint16] | NDArray[np.uint32]


@dataclass(frozen=True)
class MaskedIds:
    """The ids of a text with masks, without the specials around it."""

    ids: list[int]
    masks: list[int]
    """Index among the ids, of each mask."""
    begins_word: list[bool]
    """Of each mask: whether only a piece that begins a word fits."""


class Tokenizer(ABC):
    """Text to ids and back. Created by train_tokenizer, import_sentencepiece or load."""

    fingerprint: str
    """SHA-256 of the content."""
    size: int
    """Number of ids: the rows of an embedding."""
    dtype: np.dtype[Any]
    """The smallest type that holds every id."""
    sos: int
    pad: int
    eos: int
    oov: int
    mask: int
    mask_text: str
    """How a text spells the mask."""
    specials: tuple[int, ...]
    """Ids that stand for no text, ascending."""
    prefix: tuple[int, ...]
    """Ids before a text in the input of a model."""
    suffix: tuple[int, ...]
    """Ids after it; at most two with the prefix."""
    character_steps: list[Step]
    """Replacements of single characters that a tokenizer for the same texts should make."""
    lowercases: bool
    token_bytes: NDArray[np.int32]
    """[size] UTF-8 bytes of the text that each id stands for."""
    starts_word: NDArray[np.bool_]
    """[size] whether each id begins a word; specials do."""
    _content: str
    _bytes: list[bytes]
    """[size] the text of each id, in UTF-8; of specials none."""
    _adds_space: bool
    """Whether a text is encoded as if a space were before it; decoding removes the space."""

    @abstractmethod
    def __init__(self, content: str) -> None:
        """Create a tokenizer from the JSON text that save() writes."""

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        # Worker processes receive the JSON text; pickling the backend would lose a setting.
        return type(self), (self._content,)

    @property
    def content(self) -> str:
        """The JSON text that save() writes."""
        return self._content

    # --- text to ids ------------------------------------------------------------------------------

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without the specials around it."""

    @abstractmethod
    def encode_around_masks(self, parts: Sequence[str]) -> MaskedIds:
        """Return the ids of the parts of a text, with a mask between each two."""

    @abstractmethod
    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Encode many texts, several times faster than with encode()."""

    @abstractmethod
    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each token of `encode` in the original text."""

    def encode_all(self, texts: Iterable[str]) -> list[Ids]:
        """Encode any number of texts in bounded memory, besides the ids."""
        return [ids for block in text_blocks(texts) for ids in self.encode_batch(block)]

    def wrap(self, ids: Sequence[int] | Ids) -> NDArray[np.int64]:
        """Return the ids between the specials that a model expects; at least one id."""
        return np.array([*self.prefix, *ids, *self.suffix] or [self.sos], np.int64)

    def begin(self, ids: Sequence[int]) -> list[int]:
        """Return the ids of a text that a model continues; at least one."""
        return [*self.prefix, *ids] or [self.sos]

    # --- ids to text ------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """Return the text of the ids; specials are skipped."""
        text = b"".join(map(self._bytes_of, ids)).decode("utf-8", "replace")
        return text.removeprefix(" ") if self._adds_space else text

    def decode_stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield text as soon as it is final; a character of several tokens waits for its last."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        has_begun = not self._adds_space
        for chunk in chain(map(self._bytes_of, ids), (None,)):
            text = decoder.decode(chunk or b"", final=chunk is None)
            if text and not has_begun:
                text, has_begun = text.removeprefix(" "), True
            if text:
                yield text

    @abstractmethod
    def text_of(self, id: int) -> str | None:
        """Return the text of one piece, with the space before a word.

        None for specials and for bytes that are no whole character.
        """

    @abstractmethod
    def normalize(self, text: str) -> str:
        """Return exactly what decode(encode(text)) returns."""

    @abstractmethod
    def fold(self, text: str) -> str:
        """Return a text with its characters replaced as before it is split into pieces."""

    # --- pieces -----------------------------------------------------------------------------------

    @abstractmethod
    def piece(self, id: int) -> str:
        """Return the piece with this id as in the vocabulary."""

    @abstractmethod
    def id_of(self, piece: str) -> int | None:
        """Return the id of a piece as in the vocabulary, or None."""

    @abstractmethod
    def word_id(self, word: str) -> int | None:
        """Return the id of the piece that is this word after a space, or None."""

    @abstractmethod
    def plain_pieces(self, id: int) -> list[str]:
        """Return a piece as greffe writes pieces: ▁ for a space, <0x41> for a byte.

        Several are the bytes of an incomplete character; a special piece of another model has none.
        """

    @abstractmethod
    def spell(self, piece: str) -> list[int]:
        """Return the ids for one of the `plain_pieces` of a tokenizer, at least one."""

    # --- other tokenizers -------------------------------------------------------------------------

    @abstractmethod
    def with_character_steps(self, steps: Sequence[Step]) -> Tokenizer:
        """Return the same vocabulary with these steps applied before all others."""

    def lowercased(self) -> Tokenizer:
        """Return the same vocabulary with all text lowercased."""
        return self if self.lowercases else self.with_character_steps([LOWERCASE])

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as one JSON file, atomically."""
        write_atomic(Path(path), self._content.encode())

    @staticmethod
    def load(path: str | Path) -> Tokenizer:
        """Read a file written by save(); raise CorruptError if it is anything else."""
        # The kinds of tokenizers import this module.
        from greffe.data.foreign_tokenizer import ForeignTokenizer, is_foreign
        from greffe.data.native_tokenizer import NativeTokenizer

        try:
            content = read_file(Path(path), "a tokenizer").decode()
            return ForeignTokenizer(content) if is_foreign(content) else NativeTokenizer(content)
        except CorruptError as error:
            found = error.found or error.message
        except UnicodeDecodeError as error:
            found = str(error)
        raise CorruptError(
            f"{path} is not a usable tokenizer.",
            expected="a tokenizer.json written by greffe",
            found=found,
            hint="restore the file from a copy, or prepare the corpus again",
        )

    def _bytes_of(self, id: int) -> bytes:
        return self._bytes[self._in_range(id)]

    def _in_range(self, id: int) -> int:
        if not 0 <= id < self.size:
            raise IndexError(f"token id {id} is outside the vocabulary of {self.size} pieces")
        return id


def check_texts(texts: Sequence[str]) -> None:
    """Raise a DataError unless each of the texts is one."""
    for text in texts:
        if not isinstance(text, str):
            raise not_text(text)


def not_text(*texts: object) -> DataError:
    """Return the error for the first of these that cannot be encoded."""
    for text in texts:
        if not isinstance(text, str):
            return DataError(
                "Only text can be encoded.",
                expected="str",
                found=f"{type(text).__name__}: {text!r:.60}",
            )
    text = next((text for text in texts if not is_unicode(str(text))), "")
    index = next((i for i, c in enumerate(str(text)) if "\ud800" <= c <= "\udfff"), 0)
    return DataError(
        "The text is not valid Unicode.",
        expected="text without lone surrogates",
        found=f"{str(text)[index : index + 1]!r} at character {index}",
        hint="specify the file's encoding, for example --encoding latin-1",
    )


def is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)

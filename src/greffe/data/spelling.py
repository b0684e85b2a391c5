"""How the pieces of a vocabulary stand for text: what marks a space, a word or a byte.

Knows pieces only, one at a time: neither ids nor how a text is split into pieces.
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from greffe.data.pieces import BYTE_PIECES, SPACE

_BYTES = {piece: bytes([value]) for value, piece in enumerate(BYTE_PIECES)}


class Spelling(ABC):
    """From a piece to its text and back."""

    @abstractmethod
    def text(self, piece: str) -> bytes:
        """Return the text that a piece stands for, in UTF-8, with the space before a word."""

    @abstractmethod
    def piece(self, text: str) -> str:
        """Return the piece that would stand for this text."""

    @abstractmethod
    def starts_word(self, piece: str) -> bool:
        """Return whether a piece begins a word."""


@dataclass(frozen=True)
class WordPieceSpelling(Spelling):
    """Pieces inside a word have a prefix, others begin one; spaces are in no piece.

    A word counts as if a space were before it, unless it is punctuation or an ideograph.
    """

    prefix: str

    def text(self, piece: str) -> bytes:
        if self._continues(piece):
            return piece.removeprefix(self.prefix).encode()
        return (f" {piece}" if is_spaced(piece[:1]) else piece).encode()

    def piece(self, text: str) -> str:
        if text.startswith(" ") or not is_spaced(text[:1]):
            return text.removeprefix(" ")
        return self.prefix + text

    def starts_word(self, piece: str) -> bool:
        return not self._continues(piece)

    def _continues(self, piece: str) -> bool:
        return self.prefix != "" and piece.startswith(self.prefix) and piece != self.prefix


class ByteLevelSpelling(Spelling):
    """Each character of a piece is a byte of UTF-8 (GPT-2): Ġ is a space, Ã© is é."""

    def text(self, piece: str) -> bytes:
        # Other characters than those of the alphabet occur in no text; here they are themselves.
        return b"".join(_CHARACTER_BYTES.get(c) or c.encode() for c in piece)

    def piece(self, text: str) -> str:
        return spell_bytes(text.encode())

    def starts_word(self, piece: str) -> bool:
        return self.text(piece)[:1].isspace()


@dataclass(frozen=True)
class SpaceMarkSpelling(Spelling):
    """A mark, usually ▁, stands for a space (SentencePiece); bytes may be pieces such as <0x41>."""

    mark: str
    has_bytes: bool

    def text(self, piece: str) -> bytes:
        if self.has_bytes and piece in _BYTES:
            return _BYTES[piece]
        return piece.replace(self.mark, " ").encode()

    def piece(self, text: str) -> str:
        return text.replace(" ", self.mark)

    def starts_word(self, piece: str) -> bool:
        return piece.startswith(self.mark)


@dataclass(frozen=True)
class PlainSpelling(Spelling):
    """Pieces are words, or end them with a suffix; nothing marks where one begins."""

    suffix: str

    def text(self, piece: str) -> bytes:
        if self.suffix:
            word = piece.removesuffix(self.suffix)
            return (piece if word == piece else f"{word} ").encode()
        return (f" {piece}" if is_spaced(piece[:1]) else piece).encode()

    def piece(self, text: str) -> str:
        return text.strip(" ") + self.suffix

    def starts_word(self, piece: str) -> bool:
        return True


def choose_spelling(tree: Mapping[str, Any]) -> Spelling:
    """Return how a tokenizer, in the library's JSON form, spells its pieces."""
    model = tree["model"]
    if model["type"] == "WordPiece":
        return WordPieceSpelling(model.get("continuing_subword_prefix") or "")
    steps = list(all_steps([tree.get(name) for name in ("normalizer", "pre_tokenizer", "decoder")]))
    if any(step["type"] == "ByteLevel" for step in steps):
        return ByteLevelSpelling()
    marks = [step.get("replacement") for step in steps if step["type"] == "Metaspace"]
    # Llama's own tokenizer replaces spaces in a normalizer, and ▁ in a decoder.
    marks += [SPACE for step in steps if step["type"] == "Replace" and SPACE in _replaced(step)]
    if marks:
        return SpaceMarkSpelling(marks[0] or SPACE, bool(model.get("byte_fallback")))
    return PlainSpelling(model.get("end_of_word_suffix") or "")


def all_steps(part: Any) -> Iterator[dict[str, Any]]:
    """Yield each step of a part of the JSON, those inside sequences too."""
    if isinstance(part, list):
        for item in part:
            yield from all_steps(item)
    elif isinstance(part, dict):
        if isinstance(part.get("type"), str):
            yield part
        for name in ("normalizers", "pretokenizers", "processors", "decoders"):
            yield from all_steps(part.get(name))


def _replaced(step: Mapping[str, Any]) -> tuple[str, str]:
    pattern = step.get("pattern")
    return str(pattern.get("String") if isinstance(pattern, dict) else ""), str(step.get("content"))


def is_spaced(character: str) -> bool:
    """Return whether a word that begins with this character has a space before it, as a rule."""
    if not character or (character.isascii() and not character.isalnum()):
        return False
    is_sign = unicodedata.category(character).startswith("P")
    return not is_sign and unicodedata.name(character, "").split(" ")[0] != "CJK"


def spell_bytes(data: bytes) -> str:
    """Return bytes as the characters of the byte-level alphabet."""
    return "".join(map(_ALPHABET.__getitem__, data))


def _alphabet() -> list[str]:
    """Return GPT-2's character for each byte: itself if it is visible, else one from U+0100 on."""
    hidden = iter(range(0x100, 0x200))
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    return [chr(byte if byte in visible else next(hidden)) for byte in range(256)]


_ALPHABET = _alphabet()
_CHARACTER_BYTES = {character: bytes([byte]) for byte, character in enumerate(_ALPHABET)}

"""Spell a piece of greffe with the pieces of another model's tokenizer.

A piece is part of a text: what begins with ▁ follows a space, what does not continues a word. The
tokenizer alone cannot be asked: many put a space before every text, or take it for a whole word.
"""

from __future__ import annotations

import json
from typing import Any

from tokenizers import Tokenizer as Backend

from greffe.data.foreign_backend import guarded
from greffe.data.foreign_tokenizer_file import Tree
from greffe.data.pieces import BYTE_PIECES, SPACE
from greffe.data.spelling import (
    ByteLevelSpelling,
    Spelling,
    WordPieceSpelling,
    is_spaced,
    spell_bytes,
)

_BYTES = {piece: value for value, piece in enumerate(BYTE_PIECES)}
_BEFORE = "a"
_MESSAGE = "The tokenizer cannot encode a piece."


class PieceSpeller:
    """Ids for pieces of greffe; none if the vocabulary has no piece for them."""

    def __init__(self, backend: Backend, tree: Tree, spelling: Spelling) -> None:
        self._backend = backend
        self._spelling = spelling
        self._ids = backend.get_vocab()
        self._continuing = _without_added_space(backend, tree)

    def spell(self, piece: str) -> list[int]:
        """Return the ids for a piece with ▁ for a space, or <0x41> for a byte."""
        if piece in _BYTES:
            return self._spell_byte(piece)
        text = piece.replace(SPACE, " ")
        same = self._ids.get(self._spelling.piece(text))
        if same is not None and self._is_kept(text):
            return [same]
        if text.startswith(" "):
            return self._after_space(text)
        if isinstance(self._spelling, WordPieceSpelling):
            return self._inside_word(text, self._spelling)
        return list(guarded(_MESSAGE, self._continuing.encode, text).ids)

    def _spell_byte(self, piece: str) -> list[int]:
        name = piece
        if isinstance(self._spelling, ByteLevelSpelling):
            name = spell_bytes(bytes([_BYTES[piece]]))
        id = self._ids.get(name)
        return [] if id is None else [id]

    def _is_kept(self, text: str) -> bool:
        """Return whether the normalizer leaves the characters of a text as they are."""
        normalizer = self._continuing.normalizer
        if normalizer is None:
            return True
        seen = guarded(_MESSAGE, normalizer.normalize_str, text)
        return self._spelling.piece(text) in (seen, self._spelling.piece(seen))

    def _after_space(self, text: str) -> list[int]:
        # After a word, every kind of tokenizer treats a space as inside a text.
        encoding = guarded(_MESSAGE, self._backend.encode, _BEFORE + text, add_special_tokens=False)
        return [
            id for id, (start, _) in zip(encoding.ids, encoding.offsets, strict=True) if start > 0
        ]

    def _inside_word(self, text: str, spelling: WordPieceSpelling) -> list[int]:
        """Return the longest pieces from the left, all with the prefix."""
        normalizer = self._continuing.normalizer
        seen = guarded(_MESSAGE, normalizer.normalize_str, text) if normalizer else text
        ids: list[int] = []
        rest = seen
        while rest and is_spaced(rest[0]):
            ends = range(len(rest), 0, -1)
            end = next((end for end in ends if spelling.prefix + rest[:end] in self._ids), None)
            if end is None:
                break
            ids.append(self._ids[spelling.prefix + rest[:end]])
            rest = rest[end:]
        if rest:
            ids += guarded(_MESSAGE, self._backend.encode, rest, add_special_tokens=False).ids
        return ids


def _without_added_space(backend: Backend, tree: Tree) -> Backend:
    """Return the same model without the space that it puts before a text."""
    small: Tree = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": _changed(tree.get("normalizer")),
        "pre_tokenizer": _changed(tree.get("pre_tokenizer")),
        "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
    }
    steps = guarded("The tokenizer cannot be read.", Backend.from_str, json.dumps(small))
    continuing = Backend(backend.model)
    if steps.normalizer is not None:
        continuing.normalizer = steps.normalizer
    if steps.pre_tokenizer is not None:
        continuing.pre_tokenizer = steps.pre_tokenizer
    return continuing


def _changed(step: Any) -> Any:
    match step:
        case {"type": "Sequence"}:
            return {
                name: [_changed(inner) for inner in value] if isinstance(value, list) else value
                for name, value in step.items()
            }
        case {"type": "Prepend"}:
            return {"type": "Sequence", "normalizers": []}
        case {"type": "Metaspace"}:
            # The library refuses the older name beside the newer one.
            kept = {name: value for name, value in step.items() if name != "add_prefix_space"}
            return {**kept, "prepend_scheme": "never"}
        case {"type": "ByteLevel"} if "add_prefix_space" in step:
            return {**step, "add_prefix_space": False}
    return step

"""How the pieces of one vocabulary are spelt in another's. Knows tokenizers, not what is done."""

from __future__ import annotations

from greffe.data.pieces import BYTE_PIECES, apply_character_steps
from greffe.data.tokenizer import Tokenizer

_BYTES = frozenset(BYTE_PIECES)


def map_pieces(new: Tokenizer, old: Tokenizer) -> list[list[int]]:
    """For each piece of `new` the ids with which `old` reads it, one or more.

    A special piece is the old one of its kind.
    """
    specials = {
        new.sos: old.sos,
        new.pad: old.pad,
        new.eos: old.eos,
        # Without a <mask> of its own, a vocabulary hides tokens behind <oov>: so the later wins.
        new.oov: old.oov,
        new.mask: old.mask,
    }
    return [
        [specials[id]] if id in specials else _spelling(new.piece(id), old)
        for id in range(new.size)
    ]


def _spelling(piece: str, old: Tokenizer) -> list[int]:
    same = old.id_of(piece)
    if piece in _BYTES:  # a byte of some letter, not these six characters
        return [old.oov if same is None else same]
    # Not by reading alone: l' is a piece before a letter only. But what has letters that the other
    # changes is never read as it stands.
    if same is not None and apply_character_steps(piece, old.character_steps) == piece:
        return [same]
    # The piece says itself where there is a space, ▁; no other is to be put before it.
    return old.encode(piece, continues=True) or [old.oov]


def shared_pieces(new: Tokenizer, old: Tokenizer, spellings: list[list[int]]) -> list[bool]:
    """Which pieces of `new` the other reads as one and the same piece."""
    return [
        len(ids) == 1 and old.piece(ids[0]) == new.piece(id) for id, ids in enumerate(spellings)
    ]

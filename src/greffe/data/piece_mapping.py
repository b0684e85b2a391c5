"""Map the pieces of one vocabulary to pieces of another, for vocabulary transfer."""

from __future__ import annotations

from greffe.data.pieces import BYTE_PIECES, apply_character_steps
from greffe.data.tokenizer import Tokenizer

_BYTES = frozenset(BYTE_PIECES)


def map_pieces(new: Tokenizer, old: Tokenizer) -> list[list[int]]:
    """Return, for each piece of `new`, the ids with which `old` encodes it, at least one.

    A special piece maps to the old one of its kind.
    """
    specials = {
        new.sos: old.sos,
        new.pad: old.pad,
        new.eos: old.eos,
        # A vocabulary without <mask> uses <oov> for masking, so the later entry wins.
        new.oov: old.oov,
        new.mask: old.mask,
    }
    return [
        [specials[id]] if id in specials else _encode_piece(new.piece(id), old)
        for id in range(new.size)
    ]


def _encode_piece(piece: str, old: Tokenizer) -> list[int]:
    same = old.id_of(piece)
    if piece in _BYTES:  # a byte, not the six characters of its name
        return [old.oov if same is None else same]
    # Encoding alone is not enough: l' is a piece only before a letter. But a piece with characters
    # that the old tokenizer replaces never occurs in its input.
    if same is not None and apply_character_steps(piece, old.character_steps) == piece:
        return [same]
    # The piece contains its own space, ▁; no other must be put before it.
    return old.encode(piece, continues=True) or [old.oov]


def shared_pieces(new: Tokenizer, old: Tokenizer, mapping: list[list[int]]) -> list[bool]:
    """Return which pieces of `new` the old tokenizer encodes as the same single piece."""
    return [len(ids) == 1 and old.piece(ids[0]) == new.piece(id) for id, ids in enumerate(mapping)]

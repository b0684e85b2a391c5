"""Map the pieces of one vocabulary to pieces of another, for vocabulary transfer."""

from __future__ import annotations

from greffe.data.tokenizer import Tokenizer


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
        [specials[id]] if id in specials else _spell(new.plain_pieces(id), old)
        for id in range(new.size)
    ]


def _spell(pieces: list[str], old: Tokenizer) -> list[int]:
    return [id for piece in pieces for id in old.spell(piece)] or [old.oov]


def shared_pieces(new: Tokenizer, old: Tokenizer, mapping: list[list[int]]) -> list[bool]:
    """Return which pieces of `new` the old tokenizer encodes as the same single piece."""
    return [
        len(ids) == 1 and old.plain_pieces(ids[0]) == new.plain_pieces(id) != []
        for id, ids in enumerate(mapping)
    ]

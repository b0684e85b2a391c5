"""How the pieces of one vocabulary are spelt in another's. Knows tokenizers, not what is done."""

from __future__ import annotations

from greffe.data.tokenizer import Tokenizer


def respell(new: Tokenizer, old: Tokenizer) -> list[list[int]]:
    """For each piece of `new` the ids of `old` that spell it, one or more.

    A piece that both have is spelt by itself, a special one by the old one of its kind.
    """
    specials = {
        new.sos: old.sos,
        new.pad: old.pad,
        new.eos: old.eos,
        new.oov: old.oov,
        new.mask: old.mask,
    }
    return [[specials[id]] if id in specials else _spelling(new, id, old) for id in range(new.size)]


def _spelling(new: Tokenizer, id: int, old: Tokenizer) -> list[int]:
    same = old.id_of(new.piece(id))
    if same is not None:
        return [same]
    begins = bool(new.starts_word[id])
    text = new.decode([id])
    ids = old.encode(text.removeprefix(" ") if begins else text, continues=not begins)
    return ids or [old.oov]

"""A tokenizer as a plain file of the `tokenizers` library, for programs without greffe.

The special tokens around a text are part of the file; nothing is cut off or filled up.
"""

from __future__ import annotations

from typing import Any

from greffe.data.foreign_tokenizer import ForeignTokenizer
from greffe.data.foreign_tokenizer_file import Role, read_foreign
from greffe.data.pieces import SPECIALS
from greffe.data.tokenizer import Tokenizer
from greffe.data.tokenizer_file import read_tree
from greffe.parsing import format_json

MASK = SPECIALS[-1]


def portable_tokenizer(tokenizer: Tokenizer, *, reads_specials: bool = False) -> str:
    """Return the JSON text of a `tokenizers.Tokenizer` with the same ids.

    Its encode(text).ids are those of wrap(encode(text)), but for the empty text of a tokenizer
    without special tokens around it: the library then returns no id, and wrap() one.

    With `reads_specials`, a text that spells a special token means it, as in transformers. Without,
    it is text to a tokenizer of greffe, as everywhere in greffe; the file then lists no special
    tokens, and decoding does not skip them. Foreign tokenizers always read them.
    """
    if isinstance(tokenizer, ForeignTokenizer):
        return format_json(_foreign_tree(tokenizer))
    tree = read_tree(tokenizer.content)
    tree["post_processor"] = _template(tokenizer)
    tree["added_tokens"] = _read_specials(tree["added_tokens"]) if reads_specials else []
    return format_json(tree)


def _foreign_tree(tokenizer: ForeignTokenizer) -> dict[str, Any]:
    """Return the file of the model's makers, with the changes that greffe makes to use it."""
    tree, _ = read_foreign(tokenizer.content)
    if tree["model"]["type"] == "BPE":
        tree["model"]["dropout"] = None
    return {**tree, "truncation": None, "padding": None}


def _read_specials(tokens: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the special tokens; a mask takes the spaces around it along.

    The library puts a space before each part of a text, also before the one after a mask.
    """
    taking = {"lstrip": True, "rstrip": True}
    return [{**token, **taking} if token["content"] == MASK else token for token in tokens]


def _template(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the post-processor for one text, or for two that follow each other."""
    before, after = (
        [_special(tokenizer.piece(id)) for id in ids]
        for ids in (tokenizer.prefix, tokenizer.suffix)
    )
    pieces = {tokenizer.piece(id): id for id in (*tokenizer.prefix, *tokenizer.suffix)}
    return {
        "type": "TemplateProcessing",
        "single": [*before, _text("A"), *after],
        "pair": [*before, _text("A"), *after, _text("B"), *after],
        "special_tokens": {
            piece: {"id": piece, "ids": [id], "tokens": [piece]} for piece, id in pieces.items()
        },
    }


def _special(piece: str) -> dict[str, Any]:
    return {"SpecialToken": {"id": piece, "type_id": 0}}


def _text(name: str) -> dict[str, Any]:
    return {"Sequence": {"id": name, "type_id": 0}}


def special_tokens(tokenizer: Tokenizer) -> dict[Role, str]:
    """Return the special tokens by the role that other libraries know them by.

    One that a tokenizer of another model lacks stays out, but for padding, which every batch needs.
    """
    if isinstance(tokenizer, ForeignTokenizer):
        _, addition = read_foreign(tokenizer.content)
        return {"pad": tokenizer.piece(tokenizer.pad), **addition.roles}
    first, last = tokenizer.piece(tokenizer.sos), tokenizer.piece(tokenizer.eos)
    roles: dict[Role, str] = {
        "bos": first,
        "eos": last,
        "cls": first,
        "sep": last,
        "pad": tokenizer.piece(tokenizer.pad),
        "unk": tokenizer.piece(tokenizer.oov),
    }
    has_mask = tokenizer.mask != tokenizer.oov
    return {**roles, "mask": tokenizer.mask_text} if has_mask else roles

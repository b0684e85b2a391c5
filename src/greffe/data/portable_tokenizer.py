"""A tokenizer as a plain file of the `tokenizers` library, for programs without greffe.

The special tokens around a text are part of the file; nothing is cut off or filled up.
"""

from __future__ import annotations

from typing import Any

from greffe.data.foreign_tokenizer import ForeignTokenizer
from greffe.data.foreign_tokenizer_file import read_foreign
from greffe.data.tokenizer import Tokenizer
from greffe.data.tokenizer_file import read_tree
from greffe.parsing import format_json


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
    if not reads_specials:
        tree["added_tokens"] = []
    return format_json(tree)


def _foreign_tree(tokenizer: ForeignTokenizer) -> dict[str, Any]:
    """Return the file of the model's makers, with the changes that greffe makes to use it."""
    tree, _ = read_foreign(tokenizer.content)
    if tree["model"]["type"] == "BPE":
        tree["model"]["dropout"] = None
    return {**tree, "truncation": None, "padding": None}


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

"""Tokenizers of models from elsewhere: any `tokenizer.json` of the `tokenizers` library.

Ids are those that the library gives, special tokens that a text spells included.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from tokenizers import Encoding

from greffe.data.foreign_backend import check_size, guarded, open_backend
from greffe.data.foreign_tokenizer_file import KEY, Addition, Tree, read_foreign
from greffe.data.piece_speller import PieceSpeller
from greffe.data.pieces import BYTE_PIECES, LOWERCASE, SPACE, Step, canonical
from greffe.data.row_template import read_template
from greffe.data.spelling import all_steps, choose_spelling
from greffe.data.tokenizer import Ids, MaskedIds, Tokenizer, check_texts, not_text
from greffe.errors import CorruptError
from greffe.parsing import ParseError, parse_json

_CANNOT_ENCODE = "The tokenizer cannot encode this text."


class ForeignTokenizer(Tokenizer):
    """The tokenizer of another model, with its special tokens by role and its template."""

    def __init__(self, content: str) -> None:
        """Create a tokenizer from the JSON text that save() writes."""
        tree, addition = read_foreign(content)
        self._content = content
        self._backend = open_backend(tree)
        self.fingerprint = _fingerprint(tree, addition)
        self._ids = self._backend.get_vocab()
        self.size = addition.vocab
        check_size(self._backend, self.size)
        self.dtype = np.dtype(np.uint16 if self.size < 65_536 else np.uint32)
        self._pieces: list[str | None] = [None] * self.size
        for piece, id in self._ids.items():
            self._pieces[id] = piece
        self._set_roles(addition)
        self.prefix, self.suffix = read_template(tree.get("post_processor"), self.size)
        self._spelling = choose_spelling(tree)
        self._set_texts()
        self._steps = {name: tree.get(name) for name in ("normalizer", "pre_tokenizer")}
        first = self.encode("a")[:1]
        self._adds_space = bool(self.starts_word[first].all()) and first != []
        self.lowercases = self.fold("A").strip() == "a"
        self.character_steps = [LOWERCASE] if self.lowercases else []

    def _set_roles(self, addition: Addition) -> None:
        missing = [name for name in addition.roles.values() if name not in self._ids]
        if missing:
            raise CorruptError(
                "A special token is not in the vocabulary.",
                expected="roles of pieces of the vocabulary",
                found=f"{missing[0]!r:.40}",
            )
        given = {role: self._ids[name] for role, name in addition.roles.items()}
        edges = [given.get(role) for role in ("cls", "bos", "eos", "sep")]
        ends = [given.get(role) for role in ("sep", "eos", "bos", "cls")]
        sos, eos = (next((id for id in ids if id is not None), None) for ids in (edges, ends))
        if sos is None or eos is None:
            raise CorruptError(
                "The tokenizer has no token for the end of a text.",
                expected="a special token with the role cls, sep, bos or eos",
                found=", ".join(map(str, given)) or "no special token with a role",
                hint="name it in tokenizer_config.json, for example as eos_token",
            )
        self.sos, self.eos = sos, eos
        self.pad = given.get("pad", eos)
        self.oov = given.get("unk", eos)
        self.mask = given.get("mask", self.oov)
        self.mask_text = self._backend.id_to_token(self.mask) or ""
        added = self._backend.get_added_tokens_decoder()
        self.specials = tuple(
            sorted(
                {self.sos, self.pad, self.eos, self.oov, self.mask, *given.values()}
                | {id for id, token in added.items() if token.special}
                # Rows of the embedding without a piece stand for no text either.
                | {id for id, piece in enumerate(self._pieces) if piece is None}
            )
        )

    def _set_texts(self) -> None:
        spelling = self._spelling
        added = {
            id: token.content for id, token in self._backend.get_added_tokens_decoder().items()
        }
        special = set(self.specials)
        self._bytes = [
            b"" if id in special or piece is None
            # Added tokens are text as it is, whatever the pieces of the model stand for.
            else added[id].encode() if id in added
            else spelling.text(piece)
            for id, piece in enumerate(self._pieces)
        ]  # fmt: skip
        self.token_bytes = np.array([len(text) for text in self._bytes], np.int32)
        self.starts_word = np.array(
            [
                id in special
                or piece is None
                or (added[id][0].isspace() if id in added else spelling.starts_word(piece))
                for id, piece in enumerate(self._pieces)
            ],
            np.bool_,
        )

    # --- text to ids ------------------------------------------------------------------------------

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without the specials around it."""
        return list(self._encoding(text).ids)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each token of `encode` in the original text."""
        return list(self._encoding(text).offsets)

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Encode many texts, several times faster than with encode()."""
        check_texts(texts)
        try:
            encodings = guarded(
                _CANNOT_ENCODE,
                self._backend.encode_batch_fast,
                list(texts),
                add_special_tokens=False,
            )
        except TypeError:
            raise not_text(*texts) from None
        return [np.array(encoding.ids, self.dtype) for encoding in encodings]

    def encode_around_masks(self, parts: Sequence[str]) -> MaskedIds:
        """Return the ids of the parts of a text, with a mask between each two.

        The mask is part of the text, as for the library: it may take the space before it along.
        """
        text = self.mask_text.join(parts)
        encoding = self._encoding(text)
        ids, spans = list(encoding.ids), list(encoding.offsets)
        starts = np.cumsum([len(part) for part in parts[:-1]])
        starts += len(self.mask_text) * np.arange(len(starts))
        tokens = [index for index, id in enumerate(ids) if id == self.mask]
        first = [spans[index][0] for index in tokens]
        masks: list[int] = []
        begins: list[bool] = []
        for start in starts.tolist():
            place = bisect_right(first, start) - 1
            if place < 0 or spans[tokens[place]][1] <= start:
                return self._join_around_masks(parts)
            masks.append(tokens[place])
            begins.append(self._begins_word(text, start, spans[: tokens[place]]))
        return MaskedIds(ids, masks, begins)

    def _begins_word(self, text: str, start: int, spans: Sequence[tuple[int, int]]) -> bool:
        """Return whether only a piece that begins a word fits at this character of a text."""
        if start == 0:
            return self._adds_space
        # A token of its own may stand for the space.
        return text[start - 1].isspace() and not (spans and spans[-1][1] == start)

    def _join_around_masks(self, parts: Sequence[str]) -> MaskedIds:
        """Return the ids of parts that are encoded one by one: the text cannot spell the mask."""
        ids = self.encode(parts[0])
        masks: list[int] = []
        for part in parts[1:]:
            masks.append(len(ids))
            ids += [self.mask, *self.encode(part)]
        return MaskedIds(ids, masks, [part == "" or part[-1].isspace() for part in parts[:-1]])

    # --- ids to text ------------------------------------------------------------------------------

    def text_of(self, id: int) -> str | None:
        """Return the text of one piece with the space before a word; None: a special, a byte."""
        try:
            return self._bytes[self._in_range(id)].decode() or None
        except UnicodeDecodeError:
            return None

    def normalize(self, text: str) -> str:
        """Return exactly what decode(encode(text)) returns."""
        return self.decode(self.encode(text))

    def fold(self, text: str) -> str:
        """Return a text with its characters replaced as before it is split into pieces."""
        normalizer = self._backend.normalizer
        spells_bytes = any(s["type"] == "ByteLevel" for s in all_steps(self._steps["normalizer"]))
        if normalizer is None or spells_bytes:
            return text
        try:
            return str(guarded(_CANNOT_ENCODE, normalizer.normalize_str, text)).replace(SPACE, " ")
        except TypeError:
            raise not_text(text) from None

    # --- pieces -----------------------------------------------------------------------------------

    def piece(self, id: int) -> str:
        """Return the piece with this id as in the vocabulary; "" for a row without one."""
        return self._pieces[self._in_range(id)] or ""

    def id_of(self, piece: str) -> int | None:
        """Return the id of a piece as in the vocabulary, or None."""
        return self._ids.get(piece)

    def word_id(self, word: str) -> int | None:
        """Return the id of the piece that is this word after a space, or None."""
        ids = self.spell(SPACE + word)
        return ids[0] if len(ids) == 1 and ids[0] not in self._special else None

    def plain_pieces(self, id: int) -> list[str]:
        """Return the text of a piece as greffe writes pieces; [] for a special one."""
        text = self._bytes[self._in_range(id)]
        try:
            return [text.decode().replace(" ", SPACE)] if text else []
        except UnicodeDecodeError:
            return [BYTE_PIECES[byte] for byte in text]

    def spell(self, piece: str) -> list[int]:
        """Return the ids for a piece as greffe writes pieces, at least one."""
        return self._speller.spell(piece) or [self.oov]

    def with_character_steps(self, steps: Sequence[Step]) -> Tokenizer:
        """Return the same vocabulary with these steps applied before all others."""
        if not steps:
            return self
        tree = parse_json(self._content)
        last = [] if tree.get("normalizer") is None else [tree["normalizer"]]
        tree["normalizer"] = {"type": "Sequence", "normalizers": [*steps, *last]}
        return ForeignTokenizer(format_foreign(tree))

    # --- parts ------------------------------------------------------------------------------------

    @cached_property
    def _special(self) -> frozenset[int]:
        return frozenset(self.specials)

    @cached_property
    def _speller(self) -> PieceSpeller:
        return PieceSpeller(self._backend, self._steps, self._spelling)

    def _encoding(self, text: str) -> Encoding:
        try:
            return guarded(_CANNOT_ENCODE, self._backend.encode, text, add_special_tokens=False)
        except TypeError:
            raise not_text(text) from None


def is_foreign(content: str) -> bool:
    """Return whether the content of a tokenizer.json is that of a foreign tokenizer."""
    if content.startswith(f'{{"{KEY}":'):  # as greffe writes it
        return True
    if f'"{KEY}"' not in content:
        return False
    try:
        tree = parse_json(content)
    except ParseError:
        return False
    return isinstance(tree, dict) and KEY in tree  # not just a piece of this name


def format_foreign(tree: Tree) -> str:
    """Return the content of a file for the tree of a tokenizer with the key of greffe."""
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def _fingerprint(tree: Tree, addition: Addition) -> str:
    everything = canonical({**tree, KEY: addition.model_dump()})
    try:
        return hashlib.sha256(everything.encode()).hexdigest()
    except UnicodeEncodeError as error:
        raise CorruptError("The tokenizer is not valid Unicode.", found=str(error)) from None

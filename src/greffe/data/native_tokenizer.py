"""Tokenizers of greffe: text to ids and back, exactly; trained, converted or loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer as Backend

from greffe.config.sections import TokenizerSpec
from greffe.data.pieces import (
    BYTE_PIECES,
    LOWERCASE,
    SPACE,
    SPECIALS,
    Step,
    adds_space,
    apply_character_steps,
    canonical,
    is_character_step,
    is_splittable,
    normalizer_steps,
    trained_normalizer,
    trained_splitter,
    without_space,
)
from greffe.data.sentencepiece_import import convert
from greffe.data.tokenizer import Ids, MaskedIds, Tokenizer, check_texts, not_text
from greffe.data.tokenizer_file import read_tree
from greffe.data.tokenizer_training import learn
from greffe.errors import CorruptError, RecipeError
from greffe.parsing import parse_json

__all__ = ["SPECIALS", "NativeTokenizer", "import_sentencepiece", "train_tokenizer"]

# Characters of text whose pieces are cached between batches: about 50 MB with their pieces.
_CACHED_CHARACTERS = 2_000_000
SMALLEST = 300
_BYTES = frozenset(BYTE_PIECES)


def train_tokenizer(
    texts: Iterable[str], spec: TokenizerSpec, character_steps: Sequence[Step] = ()
) -> NativeTokenizer:
    """Train a tokenizer on the texts, each read once; the same texts give the same tokenizer.

    `character_steps` replace single characters before a text is split, for example to lowercase it.
    """
    check_vocab(spec)
    changed = (
        (apply_character_steps(text, character_steps) for text in texts)
        if character_steps
        else texts
    )
    return NativeTokenizer(learn(changed, spec)).with_character_steps(character_steps)


def check_vocab(spec: TokenizerSpec) -> None:
    """Raise an error if a tokenizer of this size cannot be trained."""
    if spec.vocab < SMALLEST:
        raise RecipeError(
            f"A vocabulary of {spec.vocab} pieces is too small.",
            expected=f"{SMALLEST} or more: 256 bytes, the special pieces and some letters",
            found=f"{spec.vocab}",
            hint="for example --vocab 16000",
        )


def import_sentencepiece(model: Path, dictionary: Path | None = None) -> NativeTokenizer:
    """Import a SentencePiece model; with a fairseq dict.txt, ids follow its order."""
    return NativeTokenizer(convert(model, dictionary))


class NativeTokenizer(Tokenizer):
    """A tokenizer that greffe trained, or converted from a SentencePiece model."""

    def __init__(self, content: str) -> None:
        """Create a tokenizer from the JSON text that save() writes."""
        tree = read_tree(content)
        self._content = content
        self._backend = _open(content)
        self.fingerprint = hashlib.sha256(canonical(tree).encode()).hexdigest()
        vocabulary = self._backend.get_vocab()
        self._ids = vocabulary
        self._pieces = sorted(vocabulary, key=vocabulary.__getitem__)
        self.size = len(vocabulary)
        self.dtype = np.dtype(np.uint16 if self.size < 65_536 else np.uint32)
        self.sos, self.pad, self.eos, self.oov = (vocabulary[name] for name in SPECIALS[:4])
        self.mask = vocabulary.get("<mask>", self.oov)
        self.mask_text = "<mask>"
        self.specials = tuple(sorted({self.sos, self.pad, self.eos, self.oov, self.mask}))
        self.prefix, self.suffix = (self.sos,), (self.eos,)

        # The same model without the leading space; the two share one vocabulary.
        self._continuing = Backend(self._backend.model)
        self._continuing.normalizer = without_space(self._backend.normalizer)
        self._continuing.pre_tokenizer = self._backend.pre_tokenizer
        self._adds_space = adds_space(self._backend.normalizer)
        self._is_trained = _is_trained_here(tree, vocabulary)
        self.character_steps = list(takewhile(is_character_step, normalizer_steps(tree)))
        self.lowercases = LOWERCASE in self.character_steps
        self._cache: dict[str, bytes] = {}
        self._cached_characters = 0

        has_bytes = bool(tree["model"].get("byte_fallback"))
        values = {piece: bytes([value]) for value, piece in enumerate(BYTE_PIECES)}
        self._bytes = [
            b""
            if piece in SPECIALS
            else values[piece]
            if has_bytes and piece in values
            else piece.replace(SPACE, " ").encode()
            for piece in self._pieces
        ]
        self.token_bytes: NDArray[np.int32] = np.array([len(b) for b in self._bytes], np.int32)
        self.starts_word: NDArray[np.bool_] = np.array(
            [piece.startswith(SPACE) or piece in SPECIALS for piece in self._pieces], np.bool_
        )

    def normalize(self, text: str) -> str:
        """Return exactly what decode(encode(text)) returns."""
        if not self._is_trained:  # an imported vocabulary may lack characters of the text
            return self.decode(self.encode(text))
        normalizer = self._continuing.normalizer
        assert normalizer is not None
        try:
            return str(normalizer.normalize_str(text)).replace(SPACE, " ")
        except (TypeError, UnicodeEncodeError):
            raise not_text(text) from None

    def fold(self, text: str) -> str:
        """Return a text with its characters replaced as before it is split into pieces."""
        return apply_character_steps(text, self.character_steps)

    def encode(self, text: str, *, continues: bool = False) -> list[int]:
        """Return the ids without specials; `continues` adds no space, as after other text."""
        backend = self._continuing if continues else self._backend
        try:
            return list(backend.encode(text, add_special_tokens=False).ids)
        except TypeError:
            raise not_text(text) from None

    def encode_around_masks(self, parts: Sequence[str]) -> MaskedIds:
        """Return the ids of the parts of a text, with a mask between each two.

        Pieces include the space before a word, so a space before a mask belongs to the piece that
        fills it: after a space only pieces that begin a word fit, directly after letters any does.
        """
        ids = self.encode(parts[0].removesuffix(" ") if len(parts) > 1 else parts[0])
        masks: list[int] = []
        begins_word = [
            part.endswith(" ") or (part == "" and i == 0) for i, part in enumerate(parts)
        ]
        for number, part in enumerate(parts[1:], start=1):
            masks.append(len(ids))
            is_last = number == len(parts) - 1
            text = part if is_last else part.removesuffix(" ")
            ids += [self.mask, *self.encode(text, continues=True)]
        return MaskedIds(ids, masks, begins_word[:-1])

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each token of `encode` in the original text."""
        return list(self._backend.encode(text, add_special_tokens=False).offsets)

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Encode many texts, several times faster than with encode()."""
        check_texts(texts)
        try:
            if self._is_trained:
                return self._encode_words(texts)
            return self._encode_directly(texts)
        except TypeError:
            raise not_text(*texts) from None

    def text_of(self, id: int) -> str | None:
        """Return the text of one piece with the space before a word; None: a special, a byte."""
        piece = self.piece(id)
        return None if id in self.specials or piece in _BYTES else piece.replace(SPACE, " ")

    def piece(self, id: int) -> str:
        """Return the piece with this id as in the vocabulary (▁ for a space)."""
        return self._pieces[self._in_range(id)]

    def id_of(self, piece: str) -> int | None:
        """Return the id of a piece, or None."""
        return self._ids.get(piece)

    def word_id(self, word: str) -> int | None:
        """Return the id of the piece that is this word after a space, or None."""
        return self._ids.get(SPACE + word)

    def plain_pieces(self, id: int) -> list[str]:
        """Return the piece, which is as greffe writes pieces."""
        return [self.piece(id)]

    def spell(self, piece: str) -> list[int]:
        """Return the ids for a piece of any vocabulary, at least one."""
        same = self.id_of(piece)
        if piece in _BYTES:  # a byte, not the six characters of its name
            return [self.oov if same is None else same]
        # Encoding alone is not enough: l' is a piece only before a letter. But a piece with
        # characters that this tokenizer replaces never occurs in its input.
        if same is not None and self.fold(piece) == piece:
            return [same]
        # The piece contains its own space, ▁; no other must be put before it.
        return self.encode(piece, continues=True) or [self.oov]

    def with_character_steps(self, steps: Sequence[Step]) -> NativeTokenizer:
        """Return the same vocabulary with these steps applied before all others."""
        if not steps:
            return self
        tree = read_tree(self._content)
        every_step = [*steps, *normalizer_steps(tree)]
        tree["normalizer"] = {"type": "Sequence", "normalizers": every_step}
        return NativeTokenizer(json.dumps(tree, ensure_ascii=False, separators=(",", ":")))

    def _encode_directly(self, texts: Sequence[str]) -> list[Ids]:
        encodings = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(encoding.ids, self.dtype) for encoding in encodings]

    def _encode_words(self, texts: Sequence[str]) -> list[Ids]:
        """Encode the parts between spaces separately; most are cached."""
        if self._cached_characters > _CACHED_CHARACTERS:
            self._cache, self._cached_characters = {}, 0
        # Another thread may replace the cache meanwhile: this batch keeps its own reference.
        known = self._cache
        known.setdefault("", np.array([self._ids[SPACE]], self.dtype).tobytes())
        parts = [text.split(" ") if text and is_splittable(text) else [] for text in texts]
        new = list(set(chain.from_iterable(parts)) - known.keys())
        known.update(zip(new, self._encode_parts(new), strict=True))
        self._cached_characters += sum(map(len, new))
        rest = [text for text, words in zip(texts, parts, strict=True) if not words]
        encoded = iter(self._encode_directly(rest))
        return [
            np.frombuffer(bytearray().join(map(known.__getitem__, words)), self.dtype)
            if words
            else next(encoded)
            for words in parts
        ]

    def _encode_parts(self, parts: Sequence[str]) -> Iterator[bytes]:
        """Return the ids of each part as bytes; parts have no space, so ▁ marks their starts."""
        # One call for many parts: most of the cost is per call, not per character.
        lines = [" ".join(parts[i : i + 64]) for i in range(0, len(parts), 64)]
        ids = np.concatenate([np.zeros(0, self.dtype), *self._encode_directly(lines)])
        raw, width = ids.tobytes(), self.dtype.itemsize
        edges = [*(np.flatnonzero(self.starts_word[ids]) * width).tolist(), len(raw)]
        return (raw[start:end] for start, end in pairwise(edges))


def _open(content: str) -> Backend:
    try:
        backend = Backend.from_str(content)
    except Exception as error:  # the library raises nothing narrower
        raise CorruptError("The tokenizer cannot be read.", found=str(error)) from None
    # Text that spells <mask> is text. This setting is not part of the JSON.
    backend.encode_special_tokens = True
    backend.no_truncation()
    backend.no_padding()
    return backend


def _is_trained_here(tree: dict[str, Any], vocabulary: dict[str, int]) -> bool:
    """Return whether text is split as by trained tokenizers, apart from character steps."""
    if not tree["model"].get("byte_fallback") or not vocabulary.keys() >= {SPACE, *BYTE_PIECES}:
        return False
    # The pickled state is JSON; the objects themselves cannot be compared.
    normalizer, splitter = (
        parse_json(bytes(part.__getstate__()))
        for part in (trained_normalizer(), trained_splitter())
    )
    steps = normalizer_steps(tree)
    trained = normalizer["normalizers"]
    before, last = steps[: -len(trained)], steps[-len(trained) :]
    is_same = last == trained and tree["pre_tokenizer"] == splitter
    return is_same and all(map(is_character_step, before))

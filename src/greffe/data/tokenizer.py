"""Tokenizer: text to ids and back, exactly; trained, imported or loaded.

The fingerprint of a tokenizer identifies it in shards and checkpoints.
"""

from __future__ import annotations

import codecs
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
from greffe.data.tables import text_blocks
from greffe.data.tokenizer_file import read_tree
from greffe.data.tokenizer_training import learn
from greffe.errors import CorruptError, DataError, RecipeError
from greffe.parsing import parse_json
from greffe.storage import read_file, write_atomic

__all__ = ["SPECIALS", "Tokenizer", "import_sentencepiece", "train_tokenizer"]

Ids = NDArray[np.uint16] | NDArray[np.uint32]
# Characters of text whose pieces are cached between batches: about 50 MB with their pieces.
_CACHED_CHARACTERS = 2_000_000
SMALLEST = 300


def train_tokenizer(
    texts: Iterable[str], spec: TokenizerSpec, character_steps: Sequence[Step] = ()
) -> Tokenizer:
    """Train a tokenizer on the texts, each read once; the same texts give the same tokenizer.

    `character_steps` replace single characters before a text is split, for example to lowercase it.
    """
    check_vocab(spec)
    changed = (
        (apply_character_steps(text, character_steps) for text in texts)
        if character_steps
        else texts
    )
    return Tokenizer(learn(changed, spec)).with_character_steps(character_steps)


def check_vocab(spec: TokenizerSpec) -> None:
    """Raise an error if a tokenizer of this size cannot be trained."""
    if spec.vocab < SMALLEST:
        raise RecipeError(
            f"A vocabulary of {spec.vocab} pieces is too small.",
            expected=f"{SMALLEST} or more: 256 bytes, the special pieces and some letters",
            found=f"{spec.vocab}",
            hint="for example --vocab 16000",
        )


def import_sentencepiece(model: Path, dictionary: Path | None = None) -> Tokenizer:
    """Import a SentencePiece model; with a fairseq dict.txt, ids follow its order."""
    return Tokenizer(convert(model, dictionary))


class Tokenizer:
    """Text to ids and back. Created by train_tokenizer, import_sentencepiece or load."""

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
        self.specials = tuple(sorted({self.sos, self.pad, self.eos, self.oov, self.mask}))

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

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[str]]:
        # Worker processes receive the JSON text; pickling the backend would lose a setting.
        return Tokenizer, (self._content,)

    def normalize(self, text: str) -> str:
        """Return exactly what decode(encode(text)) returns."""
        if not self._is_trained:  # an imported vocabulary may lack characters of the text
            return self.decode(self.encode(text))
        normalizer = self._continuing.normalizer
        assert normalizer is not None
        try:
            return str(normalizer.normalize_str(text)).replace(SPACE, " ")
        except (TypeError, UnicodeEncodeError):
            raise _not_text(text) from None

    def encode(self, text: str, *, continues: bool = False) -> list[int]:
        """Return the ids without specials; `continues` adds no space, as after other text."""
        backend = self._continuing if continues else self._backend
        try:
            return list(backend.encode(text, add_special_tokens=False).ids)
        except TypeError:
            raise _not_text(text) from None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each token of `encode` in the original text."""
        return list(self._backend.encode(text, add_special_tokens=False).offsets)

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Encode many texts, several times faster than with encode()."""
        for text in texts:
            if not isinstance(text, str):
                raise _not_text(text)
        try:
            if self._is_trained:
                return self._encode_words(texts)
            return self._encode_directly(texts)
        except TypeError:
            raise _not_text(next(text for text in texts if not _is_unicode(text))) from None

    def encode_all(self, texts: Iterable[str]) -> list[Ids]:
        """Encode any number of texts in bounded memory, besides the ids."""
        return [ids for block in text_blocks(texts) for ids in self.encode_batch(block)]

    def wrap(self, ids: Sequence[int] | Ids) -> NDArray[np.int64]:
        """Return `<sos> ids <eos>`, the input of a model."""
        return np.array([self.sos, *ids, self.eos], np.int64)

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """Return the text of the ids; specials are skipped."""
        text = b"".join(map(self._bytes_of, ids)).decode("utf-8", "replace")
        return text.removeprefix(" ") if self._adds_space else text

    def decode_stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield text as soon as it is final; a character of several tokens waits for its last."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        has_begun = not self._adds_space
        for chunk in chain(map(self._bytes_of, ids), (None,)):
            text = decoder.decode(chunk or b"", final=chunk is None)
            if text and not has_begun:
                text, has_begun = text.removeprefix(" "), True
            if text:
                yield text

    def piece(self, id: int) -> str:
        """Return the piece with this id as in the vocabulary (▁ for a space)."""
        return self._pieces[self._in_range(id)]

    def id_of(self, piece: str) -> int | None:
        """Return the id of a piece, or None."""
        return self._ids.get(piece)

    def lowercased(self) -> Tokenizer:
        """Return the same vocabulary with all text lowercased."""
        return self if self.lowercases else self.with_character_steps([LOWERCASE])

    def with_character_steps(self, steps: Sequence[Step]) -> Tokenizer:
        """Return the same vocabulary with these steps applied before all others."""
        if not steps:
            return self
        tree = read_tree(self._content)
        every_step = [*steps, *normalizer_steps(tree)]
        tree["normalizer"] = {"type": "Sequence", "normalizers": every_step}
        return Tokenizer(json.dumps(tree, ensure_ascii=False, separators=(",", ":")))

    def save(self, path: str | Path) -> None:
        """Write the tokenizer as one JSON file, atomically."""
        write_atomic(Path(path), self._content.encode())

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Read a file written by save(); raise CorruptError if it is anything else."""
        try:
            return cls(read_file(Path(path), "a tokenizer").decode())
        except CorruptError as error:
            found = error.found or error.message
        except UnicodeDecodeError as error:
            found = str(error)
        raise CorruptError(
            f"{path} is not a usable tokenizer.",
            expected="a tokenizer.json written by greffe",
            found=found,
            hint="restore the file from a copy, or prepare the corpus again",
        )

    def _bytes_of(self, id: int) -> bytes:
        return self._bytes[self._in_range(id)]

    def _in_range(self, id: int) -> int:
        if not 0 <= id < self.size:
            raise IndexError(f"token id {id} is outside the vocabulary of {self.size} pieces")
        return id

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


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _not_text(text: object) -> DataError:
    if not isinstance(text, str):
        return DataError(
            "Only text can be encoded.",
            expected="str",
            found=f"{type(text).__name__}: {text!r:.60}",
        )
    index = next((i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff"), 0)
    return DataError(
        "The text is not valid Unicode.",
        expected="text without lone surrogates",
        found=f"{text[index : index + 1]!r} at character {index}",
        hint="specify the file's encoding, for example --encoding latin-1",
    )

"""Text to ids and back, exactly: Tokenizer, and how to get one (train, import, load).

Knows the `tokenizers` library's JSON, special ids, bytes of each piece and the fingerprint by
which shards and checkpoints recognise their tokenizer. Does not know files of text, nor tensors.
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
    is_cuttable,
    normalizer_steps,
    trained_normalizer,
    trained_splitter,
    without_space,
)
from greffe.data.sentencepiece_import import convert
from greffe.data.tokenizer_training import learn
from greffe.errors import CorruptError, DataError, RecipeError
from greffe.storage import write_atomic

__all__ = ["SPECIALS", "Tokenizer", "import_sentencepiece", "train_tokenizer"]

Ids = NDArray[np.uint16] | NDArray[np.uint32]
# Characters of text whose pieces are remembered between batches: some 50 MB with their pieces.
_REMEMBERED = 2_000_000
SMALLEST = 300


def train_tokenizer(
    texts: Iterable[str], spec: TokenizerSpec, character_steps: Sequence[Step] = ()
) -> Tokenizer:
    """Train a tokenizer on the texts, each read once; the same texts give the same tokenizer.

    `character_steps` replace single characters before a text is split, for example to lowercase it.
    """
    if spec.vocab < SMALLEST:
        raise RecipeError(
            f"A tokenizer of {spec.vocab} pieces cannot be trained.",
            expected=f"{SMALLEST} or more: 256 bytes, the special pieces and some letters",
            found=f"{spec.vocab}",
            hint="for example --vocab 16000",
        )
    changed = (
        (apply_character_steps(text, character_steps) for text in texts)
        if character_steps
        else texts
    )
    return Tokenizer(learn(changed, spec)).with_character_steps(character_steps)


def import_sentencepiece(model: Path, dictionary: Path | None = None) -> Tokenizer:
    """A SentencePiece model as a Tokenizer; with a fairseq dict.txt, ids are in its order."""
    return Tokenizer(convert(model, dictionary))


class Tokenizer:
    """Text to ids and back. Made by train_tokenizer, import_sentencepiece or load."""

    def __init__(self, content: str) -> None:
        """`content` is the JSON text that save() writes."""
        tree = _parse(content)
        self._content = content
        self.fingerprint = hashlib.sha256(canonical(tree).encode()).hexdigest()
        self._backend = _open(content)
        vocabulary = self._backend.get_vocab()
        self._ids = vocabulary
        self._pieces = sorted(vocabulary, key=vocabulary.__getitem__)
        _check_vocabulary(vocabulary)
        self.size = len(vocabulary)
        self.dtype = np.dtype(np.uint16 if self.size < 65_536 else np.uint32)
        self.sos, self.pad, self.eos, self.oov = (vocabulary[name] for name in SPECIALS[:4])
        self.mask = vocabulary.get("<mask>", self.oov)
        self.specials = tuple(sorted({self.sos, self.pad, self.eos, self.oov, self.mask}))

        # The same model seen without the leading space; the two share one vocabulary.
        self._continuing = Backend(self._backend.model)
        self._continuing.normalizer = without_space(self._backend.normalizer)
        self._continuing.pre_tokenizer = self._backend.pre_tokenizer
        self._adds_space = adds_space(self._backend.normalizer)
        self._is_trained = _is_trained_here(tree)
        self.character_steps = list(takewhile(is_character_step, normalizer_steps(tree)))
        self.lowercases = LOWERCASE in self.character_steps
        self._remembered: dict[str, bytes] = {}
        self._remembered_characters = 0

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
        # Worker processes get the JSON text; the backend's own state would forget a setting.
        return Tokenizer, (self._content,)

    def normalize(self, text: str) -> str:
        """What decode(encode(text)) returns, exactly."""
        if not self._is_trained:  # an imported vocabulary may lack characters of the text
            return self.decode(self.encode(text))
        normalizer = self._continuing.normalizer
        assert normalizer is not None
        try:
            return str(normalizer.normalize_str(text)).replace(SPACE, " ")
        except (TypeError, UnicodeEncodeError):
            raise _not_text(text) from None

    def encode(self, text: str, *, continues: bool = False) -> list[int]:
        """Ids without specials. `continues`: the text goes on after other text, in mid-word."""
        backend = self._continuing if continues else self._backend
        try:
            return list(backend.encode(text, add_special_tokens=False).ids)
        except TypeError:
            raise _not_text(text) from None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where each token of `encode` stands in the text as given, in characters."""
        return list(self._backend.encode(text, add_special_tokens=False).offsets)

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Ids of many texts, the same as encode() gives and several times faster."""
        for text in texts:
            if not isinstance(text, str):
                raise _not_text(text)
        try:
            if self._is_trained:
                return self._encode_words(texts)
            return self._encode_directly(texts)
        except TypeError:
            raise _not_text(next(text for text in texts if not _is_unicode(text))) from None

    def wrap(self, ids: Sequence[int] | Ids) -> NDArray[np.int64]:
        """`<sos> ids <eos>`: how a model reads a text."""
        return np.array([self.sos, *ids, self.eos], np.int64)

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """Text of the ids; specials are skipped."""
        text = b"".join(map(self._bytes_of, ids)).decode("utf-8", "replace")
        return text.removeprefix(" ") if self._adds_space else text

    def decode_stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Text as soon as it is final: characters of several tokens wait for their last one."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        has_begun = not self._adds_space
        for chunk in chain(map(self._bytes_of, ids), (None,)):
            text = decoder.decode(chunk or b"", final=chunk is None)
            if text and not has_begun:
                text, has_begun = text.removeprefix(" "), True
            if text:
                yield text

    def piece(self, id: int) -> str:
        """The piece with this id, as it stands in the vocabulary (▁ for a space)."""
        return self._pieces[self._in_range(id)]

    def id_of(self, piece: str) -> int | None:
        """The id of a piece, or None."""
        return self._ids.get(piece)

    def lowercased(self) -> Tokenizer:
        """The same vocabulary for text that is read in small letters."""
        return self if self.lowercases else self.with_character_steps([LOWERCASE])

    def with_character_steps(self, steps: Sequence[Step]) -> Tokenizer:
        """Return the same vocabulary with these steps applied before all others."""
        if not steps:
            return self
        tree = _parse(self._content)
        every_step = [*steps, *normalizer_steps(tree)]
        tree["normalizer"] = {"type": "Sequence", "normalizers": every_step}
        return Tokenizer(json.dumps(tree, ensure_ascii=False, separators=(",", ":")))

    def save(self, path: str | Path) -> None:
        """Write one JSON file, whole or not at all."""
        write_atomic(Path(path), self._content.encode())

    @classmethod
    def load(cls, path: str | Path) -> Tokenizer:
        """Read what save() wrote; CorruptError if it is anything else."""
        try:
            return cls(Path(path).read_text("utf-8"))
        except FileNotFoundError:
            found = "no such file"
        except (CorruptError, UnicodeDecodeError) as error:
            found = (isinstance(error, CorruptError) and error.found) or str(error)
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
        """By the parts between single spaces, most of which were seen before."""
        if self._remembered_characters > _REMEMBERED:
            self._remembered, self._remembered_characters = {}, 0
        # Another thread may begin a new memory meanwhile: this batch keeps to its own.
        known = self._remembered
        known.setdefault("", np.array([self._ids[SPACE]], self.dtype).tobytes())
        parts = [text.split(" ") if text and is_cuttable(text) else [] for text in texts]
        new = list(set(chain.from_iterable(parts)) - known.keys())
        known.update(zip(new, self._encode_parts(new), strict=True))
        self._remembered_characters += sum(map(len, new))
        rest = [text for text, words in zip(texts, parts, strict=True) if not words]
        whole = iter(self._encode_directly(rest))
        return [
            np.frombuffer(bytearray().join(map(known.__getitem__, words)), self.dtype)
            if words
            else next(whole)
            for words in parts
        ]

    def _encode_parts(self, parts: Sequence[str]) -> Iterator[bytes]:
        """Ids of each part as bytes; parts have no space, so ▁ shows where one begins."""
        # One call for many parts: most of its cost is by call and not by character.
        lines = [" ".join(parts[i : i + 64]) for i in range(0, len(parts), 64)]
        ids = np.concatenate([np.zeros(0, self.dtype), *self._encode_directly(lines)])
        raw, width = ids.tobytes(), self.dtype.itemsize
        edges = [*(np.flatnonzero(self.starts_word[ids]) * width).tolist(), len(raw)]
        return (raw[start:end] for start, end in pairwise(edges))


def _parse(content: str) -> dict[str, Any]:
    try:
        tree = json.loads(content)
    except json.JSONDecodeError as error:
        raise CorruptError("The tokenizer is not valid JSON.", found=str(error)) from None
    if not isinstance(tree, dict) or not isinstance(tree.get("model"), dict):
        raise CorruptError("This JSON is not a tokenizer.", found="JSON of something else")
    return tree


def _open(content: str) -> Backend:
    try:
        backend = Backend.from_str(content)
    except Exception as error:  # the library raises nothing narrower
        raise CorruptError("The tokenizer cannot be read.", found=str(error)) from None
    # Text that spells <mask> is text. The setting is not part of the JSON.
    backend.encode_special_tokens = True
    backend.no_truncation()
    backend.no_padding()
    return backend


def _check_vocabulary(vocabulary: dict[str, int]) -> None:
    missing = [name for name in SPECIALS[:4] if name not in vocabulary]
    if missing:
        raise CorruptError(
            "This tokenizer was not made by greffe.", found=f"no piece {', '.join(missing)}"
        )
    if set(vocabulary.values()) != set(range(len(vocabulary))):
        raise CorruptError(
            "The tokenizer's vocabulary is damaged.", found="ids with gaps or used twice"
        )


def _is_trained_here(tree: dict[str, Any]) -> bool:
    """Whether text is cut as trained tokenizers cut it, whatever happens to single letters."""
    # The state of a part is its JSON; parts themselves do not compare.
    normalizer, splitter = (
        json.loads(bytes(part.__getstate__()))
        for part in (trained_normalizer(), trained_splitter())
    )
    steps = normalizer_steps(tree)
    trained = normalizer["normalizers"]
    before, own = steps[: -len(trained)], steps[-len(trained) :]
    return (
        own == trained and tree["pre_tokenizer"] == splitter and all(map(is_character_step, before))
    )


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _not_text(text: object) -> DataError:
    if not isinstance(text, str):
        return DataError(
            "Only text can be encoded.",
            expected="str",
            found=f"{type(text).__name__}: {text!r:.60}",
        )
    place = next((i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff"), 0)
    return DataError(
        "The text is not valid Unicode.",
        expected="text without lone surrogates",
        found=f"{text[place : place + 1]!r} at character {place}",
        hint="read the file with its own encoding, for example --encoding latin-1",
    )

"""Train a tokenizer: words are counted once, then BPE or Unigram is trained on the counts.

Uses the trainers of the `tokenizers` library and works around their nondeterminism.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from math import isqrt

from tokenizers import Tokenizer as Backend
from tokenizers import models, trainers

from greffe.config.sections import TokenizerSpec
from greffe.data.pieces import (
    BYTE_PIECES,
    SPACE,
    SPECIALS,
    assemble,
    is_splittable,
    trained_normalizer,
    trained_splitter,
)
from greffe.errors import DataError
from greffe.parsing import parse_json

RESERVED = (*SPECIALS, *BYTE_PIECES)
PRINTABLE = tuple(map(chr, range(0x21, 0x7F)))
# Memory and time stay bounded for any amount of text: rare words are dropped beyond MOST_WORDS, and
# counts are scaled down to MOST_OCCURRENCES, since only their proportions matter.
MOST_WORDS = 1_000_000
MOST_OCCURRENCES = 20_000_000
# Unigram training visits every different word dozens of times.
MOST_UNIGRAM_WORDS = 100_000
# Longer pieces are lines of dashes and the like, not words.
LONGEST_PIECE = 24
_COUNTED_AT_ONCE = 4_000_000
# Both are control characters, which never become pieces: see alphabet_of.
_BOUNDARY, _END = "\0", "\x01"


def learn(texts: Iterable[str], spec: TokenizerSpec) -> str:
    """Return a trained tokenizer as JSON: specials, 256 bytes, then the learned pieces."""
    words = count_words(texts)
    size = spec.vocab - len(RESERVED)
    alphabet = alphabet_of(words, size)
    words = scaled(only_letters_of(words, alphabet))
    model = (
        _learn_bpe(words, alphabet, size)
        if spec.kind == "bpe"
        else _learn_unigram(words, alphabet, size)
    )
    return assemble(model, trained_normalizer(), trained_splitter(), SPECIALS)


def count_words(texts: Iterable[str]) -> Counter[str]:
    """Count the words of the texts, split as the tokenizer will split them."""
    normalizer, splitter = trained_normalizer(), trained_splitter()
    words: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    floor = waiting = 0

    def move() -> None:
        nonlocal floor
        for part, count in parts.items():
            for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(part)):
                words[word] += count
        parts.clear()
        while len(words) > MOST_WORDS:
            floor += 1
            for word in [word for word, count in words.items() if count <= floor]:
                del words[word]

    try:
        for text in texts:
            parts.update(text.split(" ") if is_splittable(text) else (text,))
            waiting += len(text)
            if waiting >= _COUNTED_AT_ONCE:
                move()
                waiting = 0
        move()
    except (AttributeError, TypeError, UnicodeEncodeError) as error:
        raise DataError(
            "A tokenizer can only be trained on text.",
            expected="strings of valid Unicode, without lone surrogates",
            found=str(error),
        ) from None
    if not words:
        raise DataError(
            "There is no text to train a tokenizer on.",
            expected="at least one word",
            found="nothing, or empty documents only",
        )
    return words


def alphabet_of(words: Mapping[str, int], size: int) -> list[str]:
    """Return the characters that become pieces: ▁, printable ASCII, then the most frequent others.

    They take at most half of the vocabulary, so that large scripts leave space for words; if ASCII
    alone is too much for that, the most frequent characters are taken. A character seen once, or a
    control character other than tab and line ends, is encoded as bytes.
    """
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    seen = [c for c in counts if c in "\t\n\r" or _is_visible(c)]
    seen.sort(key=lambda c: (-counts[c], c))
    half = max(1, size // 2)
    if len(PRINTABLE) < half:
        seen = [*PRINTABLE, *(c for c in seen if counts[c] > 1)]
    return list(dict.fromkeys([SPACE, *seen]))[:half]


def _is_visible(character: str) -> bool:
    return character >= "\xa0" or "\x20" < character < "\x7f"


def only_letters_of(words: Mapping[str, int], alphabet: Iterable[str]) -> Counter[str]:
    """Split words at characters outside the alphabet: pieces do not contain these."""
    foreign = re.compile(f"[^{''.join(map(re.escape, alphabet))}]+")
    parts: Counter[str] = Counter()
    for word, count in words.items():
        for part in foreign.split(word):
            if part:
                parts[part] += count
    return parts


def scaled(words: Counter[str]) -> Counter[str]:
    """Divide counts so that their sum is at most about MOST_OCCURRENCES."""
    divisor = -(-words.total() // MOST_OCCURRENCES)
    return Counter({word: -(-count // divisor) for word, count in words.items()})


def _learn_bpe(words: Mapping[str, int], alphabet: list[str], size: int) -> models.BPE:
    backend = Backend(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        max_token_length=LONGEST_PIECE,
        show_progress=False,
    )
    occurrences = (word for word, count in words.items() for word in repeat(word, count))
    backend.train_from_iterator(occurrences, trainer)
    learned = parse_json(backend.to_str())["model"]
    pieces = sorted(learned["vocab"], key=learned["vocab"].__getitem__)
    return models.BPE(
        vocab={piece: id for id, piece in enumerate((*RESERVED, *pieces))},
        merges=[(left, right) for left, right in learned["merges"]],
        unk_token="<oov>",
        byte_fallback=True,
    )


def _learn_unigram(words: Mapping[str, int], alphabet: list[str], size: int) -> models.Unigram:
    """Train until two trainings agree: rarely, the same words give a different vocabulary."""
    seen = [_unigram_scores(words, alphabet, size)]
    while (scores := _unigram_scores(words, alphabet, size)) not in seen:
        seen.append(scores)
    lowest = min(scores.values())
    pieces = [(piece, lowest) for piece in RESERVED] + list(scores.items())
    return models.Unigram(pieces, unk_id=RESERVED.index("<oov>"), byte_fallback=True)


def _unigram_scores(words: Mapping[str, int], alphabet: list[str], size: int) -> dict[str, float]:
    backend = Backend(models.Unigram())
    trainer = trainers.UnigramTrainer(
        vocab_size=size + 2,  # the boundary and the end mark are removed afterwards
        initial_alphabet=[*alphabet, _BOUNDARY, _END],
        max_piece_length=LONGEST_PIECE,
        show_progress=False,
    )
    frequent = sorted(words.items(), key=lambda item: (-item[1], item[0]))[:MOST_UNIGRAM_WORDS]
    backend.train_from_iterator(_with_endings(dict(frequent)), trainer)
    learned: dict[str, float] = dict(parse_json(backend.to_str())["model"]["vocab"])
    return _settled({p: s for p, s in learned.items() if not {_BOUNDARY, _END} & set(p)})


def _with_endings(words: Mapping[str, int]) -> Iterator[str]:
    """Yield each word as often as it occurs, and repeated words once more with an end mark.

    The trainer's initial candidates are substrings that occur twice in its list of different words
    and are followed by different characters. A word that is not a prefix of another word fails
    this, however frequent it is; the extra lines make it a candidate with a suitable weight. A
    piece with an end mark is always followed by the same character, so it never becomes a candidate
    itself. Without this, French review text takes nearly a fifth more tokens.
    """
    for word, count in words.items():
        yield from repeat(word, count)
        if count > 1:
            yield _BOUNDARY.join(repeat(word, isqrt(count))) + _END


def _settled(learned: dict[str, float]) -> dict[str, float]:
    """Remove what differs between two trainings on the same words; sort the result.

    The trainer sums in the order of a hash table, which changes the last digits, and gives
    characters that no word needs alone scores in steps of 0.0001 above the lowest, in the same
    order.
    """
    lowest = min(learned.values())
    steps = lowest + 0.0001 * sum(len(piece) == 1 for piece in learned)
    scores = {
        piece: round(lowest if len(piece) == 1 and score <= steps else score, 6)
        for piece, score in learned.items()
    }
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))

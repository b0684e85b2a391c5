"""Common parts of all tokenizers: special pieces, byte pieces, normalization, pre-tokenization.

Builds tokenizers of the `tokenizers` library from a model, whether trained or imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tokenizers import AddedToken, Regex, decoders, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend
from tokenizers.models import Model

SPECIALS = ("<sos>", "<pad>", "<eos>", "<oov>", "<mask>")
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))
SPACE = "▁"
Step = dict[str, Any]
"""One step of a normalizer, in the library's JSON form."""
LOWERCASE: Step = {"type": "Lowercase"}

# Every repetition is bounded, so that a long line without spaces is split in linear time. An
# apostrophe before a letter stays with the word before it: l' amour, qu' il. Spaces only begin a
# match or are a match of their own, so texts can be split at single spaces (see is_splittable).
_WORDS = "|".join(
    (
        rf"{SPACE}?\p{{L}}[\p{{L}}\p{{M}}]{{0,63}}(?:['’](?=\p{{L}}))?",
        rf"{SPACE}?\p{{N}}{{1,3}}",
        rf"{SPACE}?[^\p{{L}}\p{{N}}\s{SPACE}]{{1,64}}",
        r"\s{1,64}",
        rf"{SPACE}{{1,64}}(?={SPACE})",
        SPACE,
    )
)


SPACES_AFTER = r" +\z"
SPACES_AROUND = r"\A +| +\z"
SEVERAL_SPACES = " {2,}"
SPELLED_PIECE = rf"<(?=(?:{'|'.join(name.strip('<>') for name in SPECIALS)}|0x[0-9A-F]{{2}})>)"
"""The "<" of text that spells a special or a byte piece."""
_PATTERNS = (_WORDS, SPACES_AFTER, SPACES_AROUND, SEVERAL_SPACES, SPELLED_PIECE)
_LITERAL = r"(?:[^\\.^$*+?()\[\]{}|]|\\[^A-Za-z0-9])+"
_LITERALS = re.compile(rf"{_LITERAL}(?:\|{_LITERAL})*", re.DOTALL)


def any_of(texts: Iterable[str]) -> str:
    """Return a pattern that matches one of these texts, the longest first."""
    return "|".join(map(re.escape, sorted(texts, key=lambda text: -len(text))))


def is_known_pattern(pattern: str) -> bool:
    """Return whether greffe writes this regular expression: others may take exponential time."""
    return pattern in _PATTERNS or _LITERALS.fullmatch(pattern) is not None


def trained_normalizer() -> normalizers.Normalizer:
    """Return the normalizer of trained tokenizers: NFC, spaces as ▁, one more before the text."""
    return normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Replace(SPACE, " "),
            normalizers.Replace(" ", SPACE),
            normalizers.Prepend(SPACE),
        ]
    )


def trained_splitter() -> pre_tokenizers.PreTokenizer:
    """Return the pre-tokenizer of trained tokenizers: words, numbers, symbols, white space."""
    return pre_tokenizers.Split(Regex(_WORDS), "isolated")


def is_splittable(text: str) -> bool:
    """Return whether a trained tokenizer can encode the parts between spaces separately.

    In trained tokenizers no piece spans a single space; pieces of several spaces exist.
    """
    return "  " not in text and SPACE not in text


def assemble(
    model: Model,
    normalizer: normalizers.Normalizer,
    splitter: pre_tokenizers.PreTokenizer,
    specials: Iterable[str],
) -> str:
    """Build a tokenizer and return its JSON."""
    backend = Backend(model)
    backend.normalizer = normalizer
    backend.pre_tokenizer = splitter
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    backend.decoder = decoders.Sequence(
        [*steps, decoders.Strip(" ", 1, 0)] if adds_space(normalizer) else steps
    )
    backend.add_special_tokens([AddedToken(piece, special=True) for piece in specials])
    return backend.to_str()


def adds_space(normalizer: normalizers.Normalizer | None) -> bool:
    """Return whether the normalizer puts a space before the text."""
    return any(isinstance(step, normalizers.Prepend) for step in _steps(normalizer))


def without_space(normalizer: normalizers.Normalizer | None) -> normalizers.Normalizer:
    """Return the normalizer for text that continues other text: without the added space."""
    return normalizers.Sequence(
        [step for step in _steps(normalizer) if not isinstance(step, normalizers.Prepend)]
    )


def _steps(normalizer: normalizers.Normalizer | None) -> list[normalizers.Normalizer]:
    if isinstance(normalizer, normalizers.Sequence):
        return [normalizer[index] for index in range(len(normalizer))]
    return [] if normalizer is None else [normalizer]


def normalizer_steps(tree: Mapping[str, Any]) -> list[Step]:
    """Return the normalization steps in a tokenizer's JSON."""
    normalizer = tree.get("normalizer")
    if normalizer is None:
        return []
    steps: list[Step] = normalizer.get("normalizers", [normalizer])
    return steps


def is_character_step(step: Step) -> bool:
    """Return whether a step only replaces single characters other than spaces."""
    if step.get("type") == "Replace":
        texts = (step["pattern"].get("String", ""), step["content"])
        return all(len(text) == 1 and not text.isspace() and text != SPACE for text in texts)
    return step == LOWERCASE


def apply_character_steps(text: str, steps: Iterable[Step]) -> str:
    """Apply steps that replace single characters."""
    for step in steps:
        assert is_character_step(step)
        text = (
            text.lower()
            if step == LOWERCASE
            else text.replace(step["pattern"]["String"], step["content"])
        )
    return text


def canonical(content: object) -> str:
    """Return canonical JSON: equal contents give equal strings."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

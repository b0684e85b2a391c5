"""What every tokenizer of greffe is made of: special pieces, byte pieces, where text is cut.

Knows the `tokenizers` library and how its parts become one JSON text; does not know where the
pieces come from (training, SentencePiece) nor how they are used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tokenizers import AddedToken, Regex, decoders, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend
from tokenizers.models import Model

SPECIALS = ("<sos>", "<pad>", "<eos>", "<oov>", "<mask>")
BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))
SPACE = "▁"
Step = dict[str, Any]
"""What a normaliser does first, second, …, as the library's JSON has it."""
LOWERCASE: Step = {"type": "Lowercase"}

# Every run is capped, so that a line of any length without a space is cut in linear time. An
# apostrophe before a letter stays with what it shortens: l' amour, qu' il. Spaces only ever begin
# a match or stand alone, which is what lets a text be cut at its single spaces (see is_cuttable).
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


def trained_normalizer() -> normalizers.Normalizer:
    """NFC; a literal ▁ becomes a space; spaces become ▁, with one more before the text."""
    return normalizers.Sequence(
        [
            normalizers.NFC(),
            normalizers.Replace(SPACE, " "),
            normalizers.Replace(" ", SPACE),
            normalizers.Prepend(SPACE),
        ]
    )


def trained_splitter() -> pre_tokenizers.PreTokenizer:
    """Words, numbers, symbols and white space, each with the space before it."""
    return pre_tokenizers.Split(Regex(_WORDS), "isolated")


def is_cuttable(text: str) -> bool:
    """Whether pieces of the text are those of its parts between single spaces.

    True of trained tokenizers only: there no piece spans a space, unless several stand in a row.
    """
    return "  " not in text and SPACE not in text


def assemble(
    model: Model,
    normalizer: normalizers.Normalizer,
    splitter: pre_tokenizers.PreTokenizer,
    specials: Iterable[str],
) -> str:
    """One tokenizer as JSON text."""
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
    """Whether the normaliser puts a space before the text."""
    return any(isinstance(step, normalizers.Prepend) for step in _steps(normalizer))


def without_space(normalizer: normalizers.Normalizer | None) -> normalizers.Normalizer:
    """The same normaliser for text that goes on after other text."""
    return normalizers.Sequence(
        [step for step in _steps(normalizer) if not isinstance(step, normalizers.Prepend)]
    )


def _steps(normalizer: normalizers.Normalizer | None) -> list[normalizers.Normalizer]:
    if isinstance(normalizer, normalizers.Sequence):
        return [normalizer[place] for place in range(len(normalizer))]
    return [] if normalizer is None else [normalizer]


def normalizer_steps(tree: Mapping[str, Any]) -> list[Step]:
    """What the JSON of a tokenizer does to a text before it is cut, step by step."""
    normalizer = tree.get("normalizer")
    if normalizer is None:
        return []
    steps: list[Step] = normalizer.get("normalizers", [normalizer])
    return steps


def is_character_step(step: Step) -> bool:
    """Whether a step changes single characters alone, and no space: cuts stay where they were."""
    if step.get("type") == "Replace":
        texts = (step["pattern"].get("String", ""), step["content"])
        return all(len(text) == 1 and not text.isspace() and text != SPACE for text in texts)
    return step == LOWERCASE


def apply_character_steps(text: str, steps: Iterable[Step]) -> str:
    """What letterwise steps make of a text."""
    for step in steps:
        assert is_character_step(step)
        text = (
            text.lower()
            if step == LOWERCASE
            else text.replace(step["pattern"]["String"], step["content"])
        )
    return text


def canonical(content: object) -> str:
    """JSON with one spelling: equal contents give equal texts."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

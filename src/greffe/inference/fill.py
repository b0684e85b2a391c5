"""Predict the most likely words for each `<mask>` in a text.

A base from elsewhere also knows its own name for the mask, such as `[MASK]`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import torch

from greffe.config.bounds import Shown, check_number
from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError
from greffe.inference.forward import (
    device_of,
    evaluation_mode,
    require_finite,
    require_head,
)
from greffe.model.model import Model
from greffe.objectives.objective import objectives_with

MASK = "<mask>"


@dataclass(frozen=True)
class Filling:
    """One candidate for one mask."""

    word: str
    probability: float
    """Softmax probability over the whole vocabulary."""
    text: str
    """The text with this mask filled and the others unchanged."""


@dataclass(frozen=True)
class _Gap:
    """One mask: the text around it and its index among the ids."""

    before: str
    after: str
    index: int
    begins_word: bool


def fill(model: Model, tokenizer: Tokenizer, text: str, *, top: int = 5) -> list[list[Filling]]:
    """Return the `top` most likely pieces for each `<mask>` of the text, best first."""
    check_number("top", top, Shown, example="--top 5")
    # Parts of the text and, between them, its masks as they are written.
    parts = re.split(f"({re.escape(MASK)}|{re.escape(tokenizer.mask_text)})", text)
    if len(parts) == 1:
        raise InputError(
            f"There is no {MASK} in the text.",
            expected=f"a text with {MASK} where a word is to be predicted",
            found=repr(text if len(text) <= 80 else f"{text[:80]}…"),
            hint=f'for example "Ce livre est {MASK}."',
        )
    require_head(
        model,
        "masked_token",
        purpose="fill masks",
        hint=f"models pretrained with --objective {objectives_with('masked_token')} can do so",
    )
    ids, gaps = _encode(tokenizer, parts)
    probabilities = _probabilities(model, tokenizer, ids, [gap.index for gap in gaps])
    return [_best(tokenizer, gap, probabilities[gap.index], top) for gap in gaps]


def _encode(tokenizer: Tokenizer, parts: list[str]) -> tuple[list[int], list[_Gap]]:
    """Return the ids of the text, with masks but without the specials around it, and its gaps."""
    masked = tokenizer.encode_around_masks(parts[::2])
    places = zip(masked.masks, masked.begins_word, strict=True)
    return masked.ids, [
        _Gap("".join(parts[:number]), "".join(parts[number + 1 :]), index, begins_word)
        for number, (index, begins_word) in zip(range(1, len(parts), 2), places, strict=True)
    ]


def _probabilities(
    model: Model, tokenizer: Tokenizer, ids: list[int], masks: list[int]
) -> dict[int, np.ndarray]:
    """Return the softmax over the vocabulary at each mask; long texts use a window around it."""
    longest = model.spec.context - 2
    windows: defaultdict[int, list[int]] = defaultdict(list)
    for mask in masks:
        windows[max(0, min(mask - longest // 2, len(ids) - longest))].append(mask)
    probabilities: dict[int, np.ndarray] = {}
    for start, inside in windows.items():
        row = torch.from_numpy(tokenizer.wrap(ids[start : start + longest]))
        first = len(tokenizer.prefix) - start
        columns = torch.tensor([first + mask for mask in inside]).to(device_of(model))
        with evaluation_mode(model):
            hidden = model.base(row[None].to(device_of(model)), causal=False)
            scores = model.scores(hidden[0].index_select(0, columns), "masked_token")
            rows = scores.cpu().double().softmax(-1).numpy()
        require_finite(rows)
        probabilities.update(zip(inside, rows, strict=True))
    return probabilities


def _best(tokenizer: Tokenizer, gap: _Gap, probabilities: np.ndarray, top: int) -> list[Filling]:
    fillings: list[Filling] = []
    for number in np.argsort(-probabilities, kind="stable").tolist():
        if len(fillings) == top:
            break
        if (piece := _piece_in(gap, tokenizer, number)) is not None:
            text = f"{gap.before}{piece}{gap.after}"
            fillings.append(Filling(piece.strip(), float(probabilities[number]), text))
    return fillings


def _piece_in(gap: _Gap, tokenizer: Tokenizer, number: int) -> str | None:
    """Return the text that this piece puts into the gap, or None if it does not fit."""
    if number in tokenizer.specials or (gap.begins_word and not tokenizer.starts_word[number]):
        return None
    text = tokenizer.text_of(number)
    if text is None:
        return None
    if not gap.before or gap.before[-1].isspace():
        text = text.removeprefix(" ")
    return text if text.strip() else None

"""The most likely words for each `<mask>` in a text, read from both sides. Knows no terminal.

A space before `<mask>` belongs to the piece that fills it, since pieces carry their word boundary:
after a space only pieces that begin a word fit, right after letters any piece does.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import torch

from greffe.data.pieces import BYTE_PIECES, SPACE
from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError
from greffe.inference.forward import device_of, evaluation_mode, require_head
from greffe.model.model import Model

MASK = "<mask>"
_BYTES = frozenset(BYTE_PIECES)


@dataclass(frozen=True)
class Filling:
    """One proposal for one mask."""

    word: str
    probability: float
    """Share of the whole vocabulary's softmax."""
    text: str
    """The whole text with this mask filled and the others left."""


@dataclass(frozen=True)
class _Gap:
    """One mask: what stands around it, and where it is among the ids."""

    before: str
    after: str
    place: int
    begins_word: bool


def fill(model: Model, tokenizer: Tokenizer, text: str, *, top: int = 5) -> list[list[Filling]]:
    """For each `<mask>` of the text, its `top` most likely pieces, best first."""
    if top < 1:
        raise InputError(
            f"top cannot be {top}.",
            expected="1 or more",
            found=str(top),
            hint="for example --top 5",
        )
    if MASK not in text:
        raise InputError(
            f"There is no {MASK} in the text.",
            expected=f"a text with {MASK} where a word is wanted",
            found=repr(text if len(text) <= 80 else f"{text[:80]}…"),
            hint=f'for example "Ce livre est {MASK}."',
        )
    require_head(
        model,
        "masked_token",
        purpose="fill masks",
        hint="pretrain with --objective masked, hybrid or next_sentence: these can fill",
    )
    ids, gaps = _encode(tokenizer, text)
    shares = _shares(model, tokenizer, ids, [gap.place for gap in gaps])
    return [_best(tokenizer, gap, shares[gap.place], top) for gap in gaps]


def _encode(tokenizer: Tokenizer, text: str) -> tuple[list[int], list[_Gap]]:
    """Ids of the text with <mask> ids in the gaps, without <sos> and <eos>."""
    segments = text.split(MASK)
    ids: list[int] = []
    gaps: list[_Gap] = []
    for number, segment in enumerate(segments):
        is_last = number == len(segments) - 1
        spaced = segment.endswith(" ") and not is_last
        ids += tokenizer.encode(segment[:-1] if spaced else segment, continues=number > 0)
        if is_last:
            break
        before, after = MASK.join(segments[: number + 1]), MASK.join(segments[number + 1 :])
        gaps.append(_Gap(before, after, place=len(ids), begins_word=spaced or not before))
        ids.append(tokenizer.mask)
    return ids, gaps


def _shares(
    model: Model, tokenizer: Tokenizer, ids: list[int], places: list[int]
) -> dict[int, np.ndarray]:
    """Softmax over the vocabulary at each place; long texts are read in a window around it."""
    room = model.spec.context - 2
    windows: defaultdict[int, list[int]] = defaultdict(list)
    for place in places:
        windows[max(0, min(place - room // 2, len(ids) - room))].append(place)
    shares: dict[int, np.ndarray] = {}
    for start, inside in windows.items():
        row = torch.from_numpy(tokenizer.wrap(ids[start : start + room]))
        columns = [1 + place - start for place in inside]
        with evaluation_mode(model):
            hidden = model.base(row[None].to(device_of(model)), causal=False)
            scores = model.scores(hidden[0, columns], "masked_token")  # [masks, vocab]
            rows = scores.double().softmax(-1).cpu().numpy()
        shares.update(zip(inside, rows, strict=True))
    return shares


def _best(tokenizer: Tokenizer, gap: _Gap, shares: np.ndarray, top: int) -> list[Filling]:
    fillings: list[Filling] = []
    for number in np.argsort(-shares, kind="stable").tolist():
        if len(fillings) == top:
            break
        if (piece := _fitting(tokenizer, number, gap)) is not None:
            text = f"{gap.before}{piece}{gap.after}"
            fillings.append(Filling(piece.strip(), float(shares[number]), text))
    return fillings


def _fitting(tokenizer: Tokenizer, number: int, gap: _Gap) -> str | None:
    """What this piece puts in the gap, or None where it does not fit."""
    if number in tokenizer.specials or (gap.begins_word and not tokenizer.starts_word[number]):
        return None
    piece = tokenizer.piece(number)
    if piece in _BYTES:
        return None
    piece = piece.replace(SPACE, " ")
    if gap.begins_word:
        piece = piece.removeprefix(" ")
    return piece if piece.strip() else None

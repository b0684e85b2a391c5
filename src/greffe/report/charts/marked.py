"""A text whose words are marked by what they said for or against a class. Knows weights only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from greffe.report.charts.shapes import ENGLISH, ChartTexts
from greffe.report.charts.svg import element, escape

if TYPE_CHECKING:
    from greffe.study.document import Marked

LEVELS = 4
FAINTEST = 0.1
"""Weaker words are left unmarked."""


def marked_text(pieces: Sequence[Marked], *, catalog: ChartTexts = ENGLISH) -> str:
    """Marks in two hues with two kinds of underline, the stronger the darker."""
    return element(
        "span", "".join(_piece(each, catalog) for each in pieces), class_="marked", dir="auto"
    )


def _piece(piece: Marked, catalog: ChartTexts) -> str:
    if not abs(piece.weight) >= FAINTEST or not piece.text.strip():
        return escape(piece.text)
    # Spaces stay outside, so that no underline runs on between words.
    word = piece.text.strip()
    before, _, after = piece.text.partition(word)
    level = min(LEVELS, math.ceil(LEVELS * abs(piece.weight)))
    side = "for" if piece.weight > 0 else "against"
    sign = element(
        "mark",
        escape(word),
        class_=f"{side} level-{level}",
        title=catalog.decimal(piece.weight, 2, signed=True),
    )
    return escape(before) + sign + escape(after)

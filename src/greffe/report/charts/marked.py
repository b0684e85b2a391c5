"""A text whose words are marked by their weight for or against a class. Knows weights only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from greffe.report.catalog import Catalog
from greffe.report.charts.svg import element, escape

if TYPE_CHECKING:
    from greffe.study.document import Marked

LEVELS = 4
FAINTEST = 0.1
"""Weaker words are left unmarked."""


def marked_text(words: Sequence[Marked], catalog: Catalog) -> str:
    """Mark words in two hues with two kinds of underline, the stronger the darker."""
    return element(
        "span", "".join(_word(each, catalog) for each in words), class_="marked", dir="auto"
    )


def _word(marked: Marked, catalog: Catalog) -> str:
    if not abs(marked.weight) >= FAINTEST or not marked.text.strip():
        return escape(marked.text)
    # Spaces stay outside, so that underlines of neighboring words do not join.
    word = marked.text.strip()
    before, _, after = marked.text.partition(word)
    level = min(LEVELS, math.ceil(LEVELS * abs(marked.weight)))
    side = "for" if marked.weight > 0 else "against"
    weight = catalog.decimal(marked.weight, 2, signed=True)
    highlighted = element("mark", escape(word), class_=f"{side} level-{level}", title=weight)
    return escape(before) + highlighted + escape(after)

"""Label rows one after the other, in order, and count what happened. Knows no model, nor torch."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from greffe.data.text_rows import TextRow
from greffe.inference.prediction import Prediction

BEGINNING = 1000
"""Characters of a text that are kept until it is labelled; a table shows one line of them."""

LabelledRow = tuple[TextRow, Prediction]
Labelling = Callable[[Iterable[str]], Iterator[Prediction]]


@dataclass
class Tally:
    """What happened to the rows that were labelled."""

    texts: int = 0
    abstained: int = 0
    cut_texts: int = 0
    cut_tokens: int = 0
    seconds: float = 0.0

    def add(self, prediction: Prediction) -> None:
        """Count a prediction."""
        self.texts += 1
        self.abstained += prediction.abstains
        self.cut_texts += prediction.cut > 0
        self.cut_tokens += prediction.cut

    def describe_speed(self) -> str:
        """Return how many texts were labelled, and how fast."""
        seconds = max(self.seconds, 1e-9)
        return (
            f"{self.texts:,} {'text' if self.texts == 1 else 'texts'} in {seconds:,.1f} s: "
            f"{self.texts / seconds:,.0f} texts/s, "
            f"{1000 * seconds / max(self.texts, 1):,.2f} ms per text"
        )

    def describe_abstentions(self, min_score: float) -> str:
        """Return how many texts got no label."""
        return (
            f"{self.abstained:,} of {self.texts:,} texts have no label: their score is "
            f"below {min_score:g}"
        )


def label_rows(rows: Iterable[TextRow], predict: Labelling, tally: Tally) -> Iterator[LabelledRow]:
    """Yield each row, its text shortened, with its prediction.

    Rows are read no further ahead than `predict` takes texts at once.
    """
    pending: deque[TextRow] = deque()
    # Called here: a generator function would load the model only when the first row is requested.
    return _labelled(predict(_texts(rows, pending)), pending, tally)


def _texts(rows: Iterable[TextRow], pending: deque[TextRow]) -> Iterator[str]:
    for row in rows:
        pending.append(TextRow(row.text[:BEGINNING], row.kept))
        yield row.text


def _labelled(
    predictions: Iterator[Prediction], pending: deque[TextRow], tally: Tally
) -> Iterator[LabelledRow]:
    began = time.monotonic()
    for prediction in predictions:
        tally.add(prediction)
        tally.seconds = time.monotonic() - began
        yield pending.popleft(), prediction

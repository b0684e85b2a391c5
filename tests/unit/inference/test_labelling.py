"""Rows with their predictions: in order, counted, and never read far ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice

import greffe
from greffe.data.tables import BLOCK_TEXTS, text_blocks
from greffe.data.text_rows import TextRow
from greffe.inference.labelling import BEGINNING, Tally, label_rows
from greffe.inference.prediction import Prediction
from greffe.run import RunDirectory


def by_length(texts: Iterable[str]) -> Iterator[Prediction]:
    """Label texts in blocks, as models do."""
    for block in text_blocks(texts):
        for text in block:
            yield Prediction(str(len(text)), 0.5, {}, cut=len(text) // 3, abstains=len(text) > 3)


def test_rows_come_in_order_with_their_cells() -> None:
    rows = [TextRow("x" * (number % 7), (number,)) for number in range(2 * BLOCK_TEXTS + 3)]
    tally = Tally()
    found = list(label_rows(rows, by_length, tally))
    assert [row for row, _ in found] == rows
    assert [prediction.label for _, prediction in found] == [str(len(row.text)) for row in rows]
    assert tally.texts == len(rows)
    assert tally.abstained == sum(len(row.text) > 3 for row in rows)
    assert tally.cut_texts == sum(len(row.text) >= 3 for row in rows)
    assert tally.cut_tokens == sum(len(row.text) // 3 for row in rows)


def test_only_the_beginning_of_a_text_is_kept() -> None:
    [(row, prediction)] = label_rows([TextRow("x" * 5000)], by_length, Tally())
    assert len(row.text) == BEGINNING and prediction.label == "5000"


def test_rows_are_not_read_far_ahead(fresh_run: Callable[..., RunDirectory]) -> None:
    read = 0

    def endless() -> Iterator[TextRow]:
        nonlocal read
        for read in count(1):
            yield TextRow(f"livre {read}", (read,))

    run = greffe.load(fresh_run("classifier", ["a", "b"]).path, precision="fp32")
    labelled = label_rows(endless(), run.stream_predictions, Tally())
    for number, (row, _) in enumerate(islice(labelled, 3 * BLOCK_TEXTS), start=1):
        assert row.kept == (number,)
        assert read <= number + 2 * BLOCK_TEXTS


def test_speed_and_abstentions_are_described() -> None:
    tally = Tally(texts=1500, abstained=20, seconds=3.0)
    assert tally.describe_speed() == "1,500 texts in 3.0 s: 500 texts/s, 2.00 ms per text"
    assert tally.describe_abstentions(0.8).startswith("20 of 1,500 texts have no label")
    assert Tally().describe_speed().startswith("0 texts in 0.0 s")

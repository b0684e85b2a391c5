"""Confusion matrices: counts, fractions of rows, odd labels."""

from __future__ import annotations

from tests.unit.report.charts.drawings import HEADING, SVG, marks, tip

from greffe.report.charts.confusion import confusion_chart


def test_cells_have_counts_and_fractions_of_their_row() -> None:
    drawn = confusion_chart([[30.0, 10.0], [5.5, 4.5]], ["bad", "good"], HEADING)
    found = marks(drawn)
    assert [each.attrib["data-value"] for each in found] == ["30", "10", "5.5", "4.5"]
    assert tip(found[1]) == "bad → good: 10\n25.0% of the row"
    rects = [each.find(f"{SVG}rect") for each in found]
    assert [rect.attrib["class"] for rect in rects if rect is not None] == [
        "cell right",
        "cell wrong",
        "cell wrong",
        "cell right",
    ]


def test_an_empty_row_and_many_long_labels_are_drawn() -> None:
    labels = [f"a rather long label & number {n}" for n in range(12)]
    counts = [[0.0] * 12 for _ in labels]
    drawn = confusion_chart(counts, labels, HEADING)
    assert len(marks(drawn)) == 144
    assert "nan" not in drawn


def test_without_classes_the_chart_says_so() -> None:
    assert "No data." in confusion_chart([], [], HEADING)

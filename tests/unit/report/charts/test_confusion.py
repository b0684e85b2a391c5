"""Confusion matrices: counts, fractions of rows, odd labels."""

from __future__ import annotations

from tests.unit.report.charts.drawings import SVG, marks

from greffe.report.charts import confusion_chart

HEAD = {"ident": "c", "title": "T", "description": "D"}


def test_cells_have_counts_and_shares_of_their_row() -> None:
    drawn = confusion_chart(
        [[30.0, 10.0], [5.5, 4.5]], ["bad", "good"], x_label="Predicted", y_label="True", **HEAD
    )
    found = marks(drawn)
    assert [each.attrib["data-value"] for each in found] == ["30", "10", "5.5", "4.5"]
    title = found[1].find(f"{SVG}title")
    assert title is not None
    assert title.text == "bad → good: 10\n25.0% of the row"
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
    drawn = confusion_chart(counts, labels, x_label="P", y_label="T", **HEAD)
    assert len(marks(drawn)) == 144
    assert "nan" not in drawn


def test_no_classes_are_said() -> None:
    assert "No data." in confusion_chart([], [], x_label="P", y_label="T", **HEAD)

"""Confusion matrices, masks and positions, and the image that carries the large ones."""

from __future__ import annotations

import base64
import io
import math
import struct
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread

from greffe.report.charts import Heat, confusion_chart, heat_chart
from greffe.report.charts.png import encode_png

SVG = "{http://www.w3.org/2000/svg}"
HEAD = {"ident": "c", "title": "T", "description": "D"}


def svg_of(drawn: str) -> ElementTree.Element:
    return next(ElementTree.fromstring(drawn).iter(f"{SVG}svg"))


def marks(drawn: str) -> list[ElementTree.Element]:
    return [g for g in svg_of(drawn).iter(f"{SVG}g") if "mark" in g.get("class", "").split()]


def matrix(values: list[list[float]], *, is_choice: bool = False, limit: float = 1.0) -> Heat:
    return Heat(
        meaning="added <here>",
        row_label="position",
        column_label="column",
        low=0.0 if is_choice else -limit,
        high=limit,
        is_choice=is_choice,
        values=values,
    )


# --- confusion ----------------------------------------------------------------------------------


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


# --- masks and positions ------------------------------------------------------------------------


def test_a_small_mask_has_a_cell_a_pair() -> None:
    causal = [[float(column <= row) for column in range(5)] for row in range(5)]
    drawn = heat_chart(matrix(causal, is_choice=True), **HEAD)
    found = marks(drawn)
    assert [float(each.attrib["data-value"]) for each in found] == [
        v for row in causal for v in row
    ]
    classes = [each[0].attrib["class"] for each in found]
    assert classes.count("cell yes") == 15
    assert "<image" not in drawn
    assert "added &lt;here&gt;" in drawn


def test_a_large_mask_is_an_image() -> None:
    drawn = heat_chart(matrix([[1.0] * 25] * 25, is_choice=True), **HEAD)
    assert not marks(drawn)
    assert "<image" in drawn


def test_values_beside_the_image_are_those_of_the_matrix() -> None:
    values = [[2.5 * math.sin(row * 0.3 + column) for column in range(40)] for row in range(30)]
    drawn = heat_chart(matrix(values, limit=2.5), **HEAD)
    image = next(e for e in svg_of(drawn).iter(f"{SVG}image") if e.get("class") == "pixels")
    data = image.attrib
    assert (data["data-rows"], data["data-columns"]) == ("30", "40")
    levels = struct.unpack("<1200H", base64.b64decode(data["data-levels"]))
    low, high = float(data["data-low"]), float(data["data-high"])
    read = np.array([low + (high - low) * level / 65535 for level in levels]).reshape(30, 40)
    assert np.abs(read - np.array(values)).max() < 1e-4


def test_a_position_table_stays_small() -> None:
    values = [[math.sin(row / (column + 1)) for column in range(128)] for row in range(64)]
    assert len(heat_chart(matrix(values), **HEAD)) < 50_000


@pytest.mark.parametrize("values", [[[0.0]], [[0.0, 0.0, 0.0]], [[1.0], [-1.0]]])
def test_odd_matrices_are_drawn(values: list[list[float]]) -> None:
    assert svg_of(heat_chart(matrix(values, limit=0.0), **HEAD)) is not None


@pytest.mark.parametrize("values", [[], [[]]])
def test_no_matrix_is_said(values: list[list[float]]) -> None:
    assert "No data." in heat_chart(matrix(values), **HEAD)


def test_other_programs_read_the_png() -> None:
    palette = [(255, 0, 0, 255), (0, 0, 255, 0), (10, 20, 30, 128)]
    read = imread(io.BytesIO(encode_png([b"\0\1", b"\2\0", b"\1\1"], palette)))
    expected = np.array(palette)[[[0, 1], [2, 0], [1, 1]]]
    assert np.array_equal(np.round(read * 255), expected)

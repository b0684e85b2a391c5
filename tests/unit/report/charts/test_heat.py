"""Masks and positions, cell by cell or as an image."""

from __future__ import annotations

import base64
import math
import struct

import numpy as np
import pytest
from tests.unit.report.charts.drawings import SVG, layout, marks

from greffe.report.charts import Heat, heat_chart

HEAD = {"ident": "c", "title": "T", "description": "D"}


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
    image = next(e for e in layout(drawn).iter(f"{SVG}image") if e.get("class") == "pixels")
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
    assert layout(heat_chart(matrix(values, limit=0.0), **HEAD)) is not None


@pytest.mark.parametrize("values", [[], [[]]])
def test_no_matrix_is_said(values: list[list[float]]) -> None:
    assert "No data." in heat_chart(matrix(values), **HEAD)

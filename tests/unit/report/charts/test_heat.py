"""Masks and positions as images."""

from __future__ import annotations

import base64
import io
import math
import struct

import numpy as np
import pytest
from matplotlib.image import imread
from tests.unit.report.charts.drawings import HEADING, SVG, parsed

from greffe.inference.matrices import Matrix
from greffe.model.diagrams import ADDED_TO_EMBEDDING, DIMENSION, POSITION, Label
from greffe.report.charts.heat import encode_png, heat_chart


def matrix(values: list[list[float]], *, is_choice: bool = False, limit: float = 1.0) -> Matrix:
    return Matrix(
        title=Label("causal_mask", "mask"),
        meaning=Label("may_attend", "may attend") if is_choice else ADDED_TO_EMBEDDING,
        row_label=POSITION,
        column_label=DIMENSION,
        low=0.0 if is_choice else -limit,
        high=limit,
        is_choice=is_choice,
        values=values,
    )


def test_a_mask_has_a_legend_of_both_colors() -> None:
    causal = [[float(column <= row) for column in range(5)] for row in range(5)]
    drawn = heat_chart(matrix(causal, is_choice=True), HEADING)
    assert {"cell yes", "cell no"} <= {one.get("class") for one in parsed(drawn)}


def test_values_beside_the_image_are_those_of_the_matrix() -> None:
    values = [[2.5 * math.sin(row * 0.3 + column) for column in range(40)] for row in range(30)]
    drawn = heat_chart(matrix(values, limit=2.5), HEADING)
    image = next(e for e in parsed(drawn).iter(f"{SVG}image") if e.get("class") == "pixels")
    data = image.attrib
    assert (data["data-rows"], data["data-columns"]) == ("30", "40")
    levels = struct.unpack("<1200H", base64.b64decode(data["data-levels"]))
    low, high = float(data["data-low"]), float(data["data-high"])
    read = np.array([low + (high - low) * level / 65535 for level in levels]).reshape(30, 40)
    assert np.abs(read - np.array(values)).max() < 1e-4


def test_a_position_table_stays_small() -> None:
    values = [[math.sin(row / (column + 1)) for column in range(128)] for row in range(64)]
    assert len(heat_chart(matrix(values), HEADING)) < 50_000


@pytest.mark.parametrize("values", [[[0.0]], [[0.0, 0.0, 0.0]], [[1.0], [-1.0]]])
def test_extreme_matrices_are_drawn(values: list[list[float]]) -> None:
    assert parsed(heat_chart(matrix(values, limit=0.0), HEADING)) is not None


@pytest.mark.parametrize("values", [[], [[]]])
def test_without_values_the_chart_says_so(values: list[list[float]]) -> None:
    assert "No data." in heat_chart(matrix(values), HEADING)


def test_other_programs_read_the_png() -> None:
    colors, opacities = [(255, 0, 0), (0, 0, 255), (10, 20, 30)], [255, 0, 128]
    read = imread(io.BytesIO(encode_png([b"\0\1", b"\2\0", b"\1\1"], colors, opacities)))
    palette = np.array([(*color, alpha) for color, alpha in zip(colors, opacities, strict=True)])
    assert np.array_equal(np.round(read * 255), palette[[[0, 1], [2, 0], [1, 1]]])

"""The image that carries a large matrix."""

from __future__ import annotations

import io

import numpy as np
from matplotlib.image import imread

from greffe.report.charts.png import encode_png


def test_other_programs_read_the_png() -> None:
    palette = [(255, 0, 0, 255), (0, 0, 255, 0), (10, 20, 30, 128)]
    read = imread(io.BytesIO(encode_png([b"\0\1", b"\2\0", b"\1\1"], palette)))
    expected = np.array(palette)[[[0, 1], [2, 0], [1, 1]]]
    assert np.array_equal(np.round(read * 255), expected)

"""A matrix as an image: attention masks, positions. Knows values, not models.

The page's script reads the values from the 16-bit numbers beside the image.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence

from greffe.inference.matrices import Matrix
from greffe.report.catalog import Catalog
from greffe.report.charts.scales import Scale, apart, even_ticks
from greffe.report.charts.svg import (
    MIDDLE,
    Frame,
    Heading,
    element,
    fitted,
    no_data,
    svg,
    text,
    text_width,
)

SIDE, WIDE_SIDE = 300.0, 350.0
# Opacity shows the size, hue the sign; both hues can be told apart on light and dark pages.
POSITIVE, NEGATIVE = (47, 118, 214), (222, 106, 24)
ZERO = 127
"""Index of the transparent color among the 255 of the palette."""


def heat_chart(matrix: Matrix, heading: Heading) -> str:
    """Draw a matrix with its scale; zero is transparent, the largest value has full color."""
    if not matrix.values or not matrix.values[0]:
        return no_data(heading)
    catalog = heading.catalog
    row_label, column_label = catalog.label(matrix.row_label), catalog.label(matrix.column_label)
    width = SIDE if len(matrix.values) == len(matrix.values[0]) else WIDE_SIDE
    frame = Frame(40, 8, 40 + width, 8 + SIDE)
    middle = frame.left + width / 2
    turned = f"translate(14 {frame.top + SIDE / 2:.1f}) rotate(-90)"
    body = [
        _image(matrix, frame, f"{row_label} {{row}}, {column_label} {{column}}", catalog),
        element("rect", class_="outline", x=frame.left, y=frame.top, width=width, height=SIDE),
        *_ticks(matrix, frame),
        text(fitted(column_label, width), middle, frame.bottom + 38, anchor="middle"),
        element("g", text(fitted(row_label, SIDE), 0, 0, anchor="middle"), transform=turned),
        _scale(matrix, frame.left, frame.bottom + 54, width, catalog),
    ]
    return svg(body, heading, frame.bottom + 92, math.ceil(frame.right + 10))


def _image(matrix: Matrix, frame: Frame, cell: str, catalog: Catalog) -> str:
    span = matrix.high - matrix.low or 1.0
    levels = [
        round(65535 * min(max((value - matrix.low) / span, 0.0), 1.0))
        for row in matrix.values
        for value in row
    ]
    return element(
        "image",
        class_="pixels",
        x=frame.left,
        y=frame.top,
        width=frame.right - frame.left,
        height=frame.bottom - frame.top,
        preserveAspectRatio="none",
        href=_data_url(matrix, matrix.values),
        data_rows=str(len(matrix.values)),
        data_columns=str(len(matrix.values[0])),
        data_low=repr(matrix.low),
        data_high=repr(matrix.high),
        data_decimal=catalog.decimal_separator(),
        data_template=f"{cell}\n{{value}}",
        data_levels=base64.b64encode(struct.pack(f"<{len(levels)}H", *levels)).decode(),
    )


def _data_url(matrix: Matrix, values: Sequence[Sequence[float]]) -> str:
    """Return values as an image in the colors of the matrix."""
    largest = max(abs(matrix.low), abs(matrix.high)) or 1.0
    pixels = [
        bytes(ZERO + round(ZERO * min(max(value / largest, -1.0), 1.0)) for value in row)
        for row in values
    ]
    colors = [NEGATIVE if index < ZERO else POSITIVE for index in range(2 * ZERO + 1)]
    opacities = [round(255 * abs(index - ZERO) / ZERO) for index in range(2 * ZERO + 1)]
    png = encode_png(pixels, colors, opacities)
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def encode_png(
    rows: Sequence[bytes], colors: Sequence[tuple[int, int, int]], opacities: Sequence[int]
) -> bytes:
    """Return a PNG file with one byte per pixel, which is an index of a color."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + checksum

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0))
        + chunk(b"PLTE", b"".join(map(bytes, colors)))
        + chunk(b"tRNS", bytes(opacities))
        # Each row begins with the number of its filter; 0 is none.
        + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows), 9))
        + chunk(b"IEND", b"")
    )


def _ticks(matrix: Matrix, frame: Frame) -> list[str]:
    """Return numbers of rows and columns, at the middle of their cells."""
    rows, columns = len(matrix.values), len(matrix.values[0])
    width, height = frame.right - frame.left, frame.bottom - frame.top
    parts = []
    for column in _numbers(columns, width):
        x = frame.left + (column + 0.5) * width / columns
        parts.append(text(str(column), x, frame.bottom + 16, anchor="middle", class_="tick"))
    for row in _numbers(rows, height):
        y = frame.top + (row + 0.5) * height / rows + MIDDLE
        parts.append(text(str(row), frame.left - 6, y, anchor="end", class_="tick"))
    return parts


def _numbers(count: int, length: float) -> list[int]:
    if count == 1:
        return [0]
    ticks = even_ticks(0, count - 1, min(9, count), whole=True).values
    inside = [tick for tick in ticks if tick <= count - 1]
    scale = Scale(0, count - 1, 0, length)
    return [int(tick) for tick in apart(inside, [scale(tick) for tick in inside], 24)]


def _scale(matrix: Matrix, left: float, top: float, width: float, catalog: Catalog) -> str:
    """Return what the colors mean."""
    meaning = catalog.label(matrix.meaning)
    if matrix.is_choice:
        yes = element("rect", class_="cell yes", x=left, y=top, width=14, height=14)
        label = text(meaning, left + 20, top + 12)
        start = left + 34 + text_width(meaning)
        no = element("rect", class_="cell no", x=start, y=top, width=14, height=14)
        return yes + label + no + text(catalog("number.no"), start + 20, top + 12)
    shades = [matrix.low + (matrix.high - matrix.low) * index / 63 for index in range(64)]
    bar = element(
        "image",
        x=left,
        y=top,
        width=width,
        height=10,
        preserveAspectRatio="none",
        href=_data_url(matrix, [shades]),
    )
    edge = element("rect", class_="outline", x=left, y=top, width=width, height=10)
    low = text(catalog.plain(matrix.low), left, top + 26, class_="tick")
    high = text(catalog.plain(matrix.high), left + width, top + 26, anchor="end", class_="tick")
    label = fitted(meaning, width - 90)
    middle = text(label, left + width / 2, top + 26, anchor="middle", class_="tick")
    return bar + edge + low + high + middle

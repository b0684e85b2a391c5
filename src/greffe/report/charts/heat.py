"""Matrices as pictures: who may look at whom, what positions do. Knows values, not models.

Small yes-or-no matrices are drawn cell by cell; all others are an embedded image, whose values
the page's script reads from the 16-bit numbers beside it.
"""

from __future__ import annotations

import base64
import math
import struct

from greffe.report.charts.png import Colour, encode_png
from greffe.report.charts.scales import Scale, apart, even_ticks
from greffe.report.charts.shapes import ENGLISH, ChartTexts, Heat
from greffe.report.charts.svg import (
    FONT,
    Heading,
    Layout,
    drawing,
    element,
    fitted,
    mark,
    no_data,
    svg,
    text,
    text_width,
)
from greffe.report.number_format import decimal_sign

LARGEST_RULED = 24
SIDE, WIDTH = 300.0, 400.0
# Opacity says how much, hue on which side of zero; both hues stand out on light and dark pages.
ABOVE, BELOW = (47, 118, 214), (222, 106, 24)
ZERO = 127
"""Index of no colour among the 255 of the palette."""


def heat_chart(
    matrix: Heat,
    *,
    ident: str,
    title: str,
    description: str,
    catalog: ChartTexts = ENGLISH,
) -> str:
    """A matrix with its scale; nothing is drawn at zero, full colour at the largest value."""
    if not matrix.values or not matrix.values[0]:
        return no_data(ident, catalog)
    rows, columns = len(matrix.values), len(matrix.values[0])
    is_ruled = matrix.is_choice and max(rows, columns) <= LARGEST_RULED
    is_square = rows == columns
    left, top = 40.0, 8.0
    width = SIDE if is_square else WIDTH - left - 10
    height = SIDE
    body = _cells(matrix, left, top, width, height, catalog) if is_ruled else []
    if not is_ruled:
        body.append(_image(matrix, left, top, width, height, catalog))
    body.append(element("rect", class_="outline", x=left, y=top, width=width, height=height))
    body += _ticks(matrix, left, top, width, height)
    bottom = top + height
    body.append(
        text(fitted(matrix.column_label, width), left + width / 2, bottom + 38, anchor="middle")
    )
    turned = f"translate(14 {top + height / 2:.1f}) rotate(-90)"
    label = text(fitted(matrix.row_label, height), 0, 0, anchor="middle")
    body.append(element("g", label, transform=turned))
    body.append(_scale(matrix, left, bottom + 54, width, catalog))
    layout = Layout("square", math.ceil(left + width + 10))
    heading = Heading(ident, title, description, catalog)
    return drawing([svg(body, heading, layout, bottom + 92)], ident)


def _cells(
    matrix: Heat, left: float, top: float, width: float, height: float, catalog: ChartTexts
) -> list[str]:
    across, down = width / len(matrix.values[0]), height / len(matrix.values)
    parts = []
    for row, values in enumerate(matrix.values):
        for column, value in enumerate(values):
            rect = element(
                "rect",
                class_="cell yes" if value else "cell no",
                x=left + column * across + 0.5,
                y=top + row * down + 0.5,
                width=across - 1,
                height=down - 1,
            )
            tip = f"{matrix.row_label} {row}, {matrix.column_label} {column}"
            tip += f"\n{catalog.yes if value else catalog.no}"
            parts.append(mark(rect, tip, value=value))
    return parts


# --- images -------------------------------------------------------------------------------------


def _image(
    matrix: Heat, left: float, top: float, width: float, height: float, catalog: ChartTexts
) -> str:
    largest = max(abs(matrix.low), abs(matrix.high)) or 1.0
    pixels = [bytes(_index(value / largest) for value in row) for row in matrix.values]
    span = matrix.high - matrix.low or 1.0
    levels = [
        round(65535 * min(max((value - matrix.low) / span, 0.0), 1.0))
        for row in matrix.values
        for value in row
    ]
    return element(
        "image",
        class_="pixels",
        x=left,
        y=top,
        width=width,
        height=height,
        preserveAspectRatio="none",
        href=_data_url(pixels),
        data_rows=str(len(matrix.values)),
        data_columns=str(len(matrix.values[0])),
        data_low=repr(matrix.low),
        data_high=repr(matrix.high),
        data_decimal=decimal_sign(catalog.language),
        data_template=f"{matrix.row_label} {{row}}, {matrix.column_label} {{column}}\n{{value}}",
        data_levels=base64.b64encode(struct.pack(f"<{len(levels)}H", *levels)).decode(),
    )


def _index(share: float) -> int:
    return ZERO + round(ZERO * min(max(share, -1.0), 1.0))


def _palette() -> list[Colour]:
    """Full colour below, none at zero, full colour above."""
    return [
        (*(BELOW if index < ZERO else ABOVE), round(255 * abs(index - ZERO) / ZERO))
        for index in range(2 * ZERO + 1)
    ]


def _data_url(pixels: list[bytes]) -> str:
    return "data:image/png;base64," + base64.b64encode(encode_png(pixels, _palette())).decode()


# --- around it ----------------------------------------------------------------------------------


def _ticks(matrix: Heat, left: float, top: float, width: float, height: float) -> list[str]:
    """Numbers of rows and columns, at the middle of their cells."""
    rows, columns = len(matrix.values), len(matrix.values[0])
    across, down = width / columns, height / rows
    parts = []
    for column in _numbers(columns, width):
        x = left + (column + 0.5) * across
        parts.append(text(str(column), x, top + height + 16, anchor="middle", class_="tick"))
    for row in _numbers(rows, height):
        y = top + (row + 0.5) * down + 0.35 * FONT
        parts.append(text(str(row), left - 6, y, anchor="end", class_="tick"))
    return parts


def _numbers(count: int, room: float) -> list[int]:
    if count == 1:
        return [0]
    ticks = even_ticks(0, count - 1, min(9, count), whole=True).values
    inside = [tick for tick in ticks if tick <= count - 1]
    scale = Scale(0, count - 1, 0, room)
    return [int(tick) for tick in apart(inside, [scale(tick) for tick in inside], 24)]


def _scale(matrix: Heat, left: float, top: float, width: float, catalog: ChartTexts) -> str:
    """What the colours mean."""
    if matrix.is_choice:
        yes = element("rect", class_="cell yes", x=left, y=top, width=14, height=14)
        said = text(matrix.meaning, left + 20, top + 12)
        start = left + 34 + text_width(matrix.meaning)
        no = element("rect", class_="cell no", x=start, y=top, width=14, height=14)
        return yes + said + no + text(catalog.no, start + 20, top + 12)
    largest = max(abs(matrix.low), abs(matrix.high)) or 1.0
    shades = [matrix.low + (matrix.high - matrix.low) * place / 63 for place in range(64)]
    bar = element(
        "image",
        x=left,
        y=top,
        width=width,
        height=10,
        preserveAspectRatio="none",
        href=_data_url([bytes(_index(shade / largest) for shade in shades)]),
    )
    edge = element("rect", class_="outline", x=left, y=top, width=width, height=10)
    low = text(catalog.plain(matrix.low), left, top + 26, class_="tick")
    high = text(catalog.plain(matrix.high), left + width, top + 26, anchor="end", class_="tick")
    meaning = fitted(matrix.meaning, width - 90)
    middle = text(meaning, left + width / 2, top + 26, anchor="middle", class_="tick")
    return bar + edge + low + high + middle

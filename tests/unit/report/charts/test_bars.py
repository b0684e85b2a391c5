"""Bars: from zero, in groups, inside the drawing."""

from __future__ import annotations

import pytest
from tests.unit.report.charts.drawings import SVG, layout, marks, texts

from greffe.report.charts import (
    BarRow,
    bar_chart,
)

HEAD = {"ident": "c", "title": "T", "description": "D", "x_label": "X"}


def test_bars_begin_at_zero_and_grow_with_their_values() -> None:
    drawn = bar_chart([BarRow("a", 10.0), BarRow("b", 20.0), BarRow("c", 0.0)], **HEAD)
    bars = [each for each in layout(drawn).iter(f"{SVG}rect") if each.get("class") == "bar"]
    widths = [float(bar.attrib["width"]) for bar in bars]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert widths[2] == 0
    assert len({bar.attrib["x"] for bar in bars}) == 1


def test_bars_of_one_name_stand_together_with_a_legend() -> None:
    rows = [
        BarRow("block 1", 0.03, "pretrained", "pretrained"),
        BarRow("block 2", 0.05, "pretrained", "pretrained"),
        BarRow("block 1", 0.07, "scratch", "from scratch"),
        BarRow("block 2", 0.09, "scratch", "from scratch"),
    ]
    drawn = bar_chart(rows, percent=True, **HEAD)
    order = [each.attrib["data-value"] for each in marks(drawn)]
    assert order == ["0.03", "0.07", "0.05", "0.09"]
    assert texts(drawn).count("block 1") == 1
    assert {"pretrained", "from scratch"} <= set(texts(drawn))
    assert len({each.attrib["class"] for each in marks(drawn)}) == 2


def test_a_bars_own_text_wins() -> None:
    drawn = bar_chart([BarRow("a", 212.0, text="3 min 32 s")], **HEAD)
    assert "3 min 32 s" in texts(drawn)


@pytest.mark.parametrize("values", [[0.0], [-1.0, 2.0], [1e-9], [3e9]])
def test_odd_bars_are_drawn_inside(values: list[float]) -> None:
    drawn = bar_chart([BarRow(f"r{v}", v) for v in values], **HEAD)
    for bar in layout(drawn).iter(f"{SVG}rect"):
        assert float(bar.attrib["width"]) >= 0
        assert 0 <= float(bar.attrib["x"]) <= 720


def test_no_bars_are_said() -> None:
    assert "No data." in bar_chart([], **HEAD)

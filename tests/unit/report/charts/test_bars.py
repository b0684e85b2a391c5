"""Bars: from zero, in groups, inside the drawing."""

from __future__ import annotations

import pytest
from tests.unit.report.charts.drawings import HEADING, SVG, marks, parsed, texts

from greffe.report.charts.bars import BarRow, bar_chart


def test_bars_begin_at_zero_and_grow_with_their_values() -> None:
    drawn = bar_chart(
        [BarRow("a", 10.0, "10"), BarRow("b", 20.0, "20"), BarRow("c", 0.0, "0")], HEADING
    )
    bars = [each for each in parsed(drawn).iter(f"{SVG}rect") if each.get("class") == "bar"]
    widths = [float(bar.attrib["width"]) for bar in bars]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert widths[2] == 0
    assert len({bar.attrib["x"] for bar in bars}) == 1


def test_bars_of_one_name_are_grouped_with_a_legend() -> None:
    rows = [
        BarRow("block 1", 0.03, "3%", "pretrained", "pretrained"),
        BarRow("block 2", 0.05, "5%", "pretrained", "pretrained"),
        BarRow("block 1", 0.07, "7%", "scratch", "from scratch"),
        BarRow("block 2", 0.09, "9%", "scratch", "from scratch"),
    ]
    drawn = bar_chart(rows, HEADING, percent=True)
    order = [each.attrib["data-value"] for each in marks(drawn)]
    assert order == ["0.03", "0.07", "0.05", "0.09"]
    assert texts(drawn).count("block 1") == 1 and "3%" in texts(drawn)
    assert {"pretrained", "from scratch"} <= set(texts(drawn))
    assert len({each.attrib["class"] for each in marks(drawn)}) == 2


@pytest.mark.parametrize("values", [[0.0], [-1.0, 2.0], [1e-9], [3e9]])
def test_extreme_bars_are_drawn_inside(values: list[float]) -> None:
    drawn = bar_chart([BarRow(f"r{v}", v, f"{v}") for v in values], HEADING)
    for bar in parsed(drawn).iter(f"{SVG}rect"):
        assert float(bar.attrib["width"]) >= 0
        assert 0 <= float(bar.attrib["x"]) <= 720


def test_without_bars_the_chart_says_so() -> None:
    assert "No data." in bar_chart([], HEADING)

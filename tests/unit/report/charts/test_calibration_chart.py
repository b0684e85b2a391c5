"""Calibration: bins, counts and the diagonal."""

from __future__ import annotations

from tests.unit.report.charts.drawings import HEADING, SVG, marks, parsed, tip

from greffe.report.charts.calibration_chart import CalibrationSeries, calibration_chart
from greffe.study.document import CalibrationBin


def test_calibration_has_bins_counts_and_the_diagonal() -> None:
    bins = [
        CalibrationBin(confidence=0.9, accuracy=0.8, count=120),
        CalibrationBin(confidence=0.55, accuracy=0.5, count=7),
        CalibrationBin(confidence=0.7, accuracy=0.0, count=0),
    ]
    drawn = calibration_chart([CalibrationSeries("pretrained", bins, "pretrained")], HEADING)
    found = [(m.attrib["data-x"], m.attrib["data-y"], m.attrib["data-count"]) for m in marks(drawn)]
    assert found == [("0.55", "0.5", "7"), ("0.9", "0.8", "120")]
    assert tip(marks(drawn)[1]).endswith("120\u00a0texts")
    diagonal = next(
        each
        for each in parsed(drawn).iter(f"{SVG}line")
        if each.get("class") == "reference" and each.attrib["y1"] != each.attrib["y2"]
    )
    across = float(diagonal.attrib["x2"]) - float(diagonal.attrib["x1"])
    assert across == float(diagonal.attrib["y1"]) - float(diagonal.attrib["y2"])


def test_without_bins_the_chart_says_so() -> None:
    empty = CalibrationSeries("a", [], "x")
    assert "No data." in calibration_chart([empty], HEADING)

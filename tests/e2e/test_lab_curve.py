"""The tool that repeats the original lab's figure, on a tiny base."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from greffe.lab.lab_markdown import standalone
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools.lab_curve import chart, table, train_cell


@pytest.mark.parametrize("arm", ["pretrained", "scratch"])
def test_a_cell_has_an_accuracy_per_epoch_and_is_read_back(
    arm: str, fresh_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    base, out = fresh_run("base"), tmp_path / "out"
    files = [tmp_path / "train.tsv", tmp_path / "valid.tsv"]
    for seed, path in enumerate(files):
        lines = (f"{label}\t{text}\n" for label, text in toy_reviews(16, seed=seed))
        path.write_text("".join(lines), "utf-8")
    found = train_cell(base.path, *files, arm, 3, out)
    assert len(found) >= 2 and all(0 <= each <= 1 for each in found)
    (out / f"{arm}-3.json").write_text(json.dumps([0.25]))
    assert train_cell(base.path, *files, arm, 3, out) == [0.25]
    assert not (out / f"{arm}-3").exists()


def test_the_table_pairs_seeds_and_the_figure_is_drawn() -> None:
    scratch = np.array([[0.5, 0.6], [0.52, 0.7], [0.48, 0.65]])
    curves = {"pretrained": scratch + 0.1, "scratch": scratch}
    rows = table(curves).splitlines()
    assert rows[2].startswith("| 1 | 60.0% (55.0 to 65.0) | 50.0% (45.0 to 55.0) | +10.0")
    assert "(+10.0 to +10.0)" in rows[3]
    drawn = standalone(chart(curves))
    assert drawn.startswith("<svg") and "<style>" in drawn
    assert "lab, scratch 77" in unescape(drawn)
    for name in ("pretrained", "scratch"):
        assert f"{name}\nepoch: 1\n" in unescape(drawn)

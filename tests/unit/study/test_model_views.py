"""What a report shows of a model: its parameters, masks and positions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from greffe.run import RunDirectory
from greffe.study.model_views import parameter_rows, pictures_of

FreshRun = Callable[..., RunDirectory]


def test_parameters_are_counted_with_their_totals(fresh_run: FreshRun) -> None:
    rows = parameter_rows(fresh_run("base"), classes=3)
    assert all(row.closed == row.counted for row in rows)
    totals = [row for row in rows if row.is_total]
    assert len(totals) == 2  # the base, and the base with a classifier
    assert totals[1].closed == totals[0].closed + 3 * 16 + 3


@pytest.mark.parametrize(
    ("directions", "masks"),
    [
        (["causal"], ["causal_mask"]),
        (["causal", "bidirectional"], ["causal_mask", "bidirectional_mask"]),
    ],
)
def test_each_direction_has_its_mask_and_positions_are_shown_once(
    fresh_run: FreshRun, directions: list[str], masks: list[str]
) -> None:
    run = fresh_run("base")
    run.write_manifest(run.manifest().model_copy(update={"directions": directions}))
    *shown, positions = pictures_of(run)
    assert [picture.title.id for picture in shown] == masks
    assert positions.title.id == "rotary_positions"
    assert np.array_equal(shown[0].values, np.tri(len(shown[0].values)))

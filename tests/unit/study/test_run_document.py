"""Run documents and what a report shows of a model."""

from __future__ import annotations

from collections.abc import Callable

from greffe.run import RunDirectory
from greffe.study.model_views import parameter_rows
from greffe.study.run_document import RunDocument, run_document

FreshRun = Callable[..., RunDirectory]


def test_a_run_without_metrics_has_facts_and_no_curves(fresh_run: FreshRun) -> None:
    found = run_document(fresh_run("classifier", ["a", "b"]))
    assert (found.name, found.kind, found.labels) == ("classifier", "classifier", ["a", "b"])
    assert found.loss == [] and found.valid == {}
    assert found.hashes.keys() == {"initial base", "tokenizer", "weights"}
    assert found.samples == []  # a classifier writes nothing
    assert "width = 16" in found.recipe
    assert RunDocument.model_validate(found.model_dump(mode="json")) == found


def test_parameters_are_counted_with_their_totals(fresh_run: FreshRun) -> None:
    rows = parameter_rows(fresh_run("base"), classes=3)
    assert all(row.closed == row.counted for row in rows)
    totals = [row for row in rows if row.is_total]
    assert len(totals) == 2  # the base, and the base with a classifier
    assert totals[1].closed == totals[0].closed + 3 * 16 + 3

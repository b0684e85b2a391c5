"""Run documents: everything that a run's page shows."""

from __future__ import annotations

from collections.abc import Callable

from greffe.run import RunDirectory
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

"""Runs that the verbs use: a classifier with fresh weights, and a table of its labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews


@pytest.fixture
def classifier(fresh_run: Callable[..., RunDirectory]) -> Path:
    return fresh_run("classifier", ["négatif", "positif"]).path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Twelve toy reviews with their labels."""
    path = tmp_path / "reviews.tsv"
    lines = (f"{label}\t{text}\n" for label, text in toy_reviews(12, seed=2))
    path.write_text("".join(lines), "utf-8")
    return path

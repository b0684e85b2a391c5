"""Fits that take moments: two folds, few texts, a base with fresh weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.builders import estimate

from greffe.auto import cross_validate, fit, ladder, search
from greffe.auto.document import FitDocument, Rung, Stage
from greffe.data.tables import Example
from greffe.samples.toy import toy_reviews


@pytest.fixture
def two_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two folds, one repeat, and networks that are trained once."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(cross_validate, "FOLDS", 2)
    monkeypatch.setattr(cross_validate, "FEW_REPEATS", 1)
    monkeypatch.setattr(search, "MOST_REPEATS", 1)
    for module in (fit, ladder, search):
        monkeypatch.setattr(module, "FOLDS", 2)


@pytest.fixture
def without_base(two_folds: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with texts in a language that no base knows: TF-IDF alone is tried."""
    monkeypatch.setattr(fit, "choose_bases", lambda *_: [])


@pytest.fixture(scope="session")
def examples() -> list[Example]:
    return [Example(text, label) for label, text in toy_reviews(24, seed=1)]


@pytest.fixture
def table(tmp_path: Path, examples: list[Example]) -> Path:
    path = tmp_path / "reviews.tsv"
    path.write_text("".join(f"{one.label}\t{one.text}\n" for one in examples), "utf-8")
    return path


@pytest.fixture
def document() -> FitDocument:
    """An ensemble that is significantly better than TF-IDF, after a stage of pretraining."""
    names = ["majority", "tfidf", "stacked", "finetuned", "ensemble"]
    gains = [None, estimate(0.3, 0.05), estimate(0.01, 0.02), estimate(-0.1, 0.05), estimate(0.04)]
    overs = [None, "majority", "tfidf", "tfidf", "tfidf"]
    return FitDocument(
        created="2026-11-18T12:00:00+00:00",
        labels=["négatif", "positif"],
        texts=1200,
        auxiliary=300,
        unlabelled=["text.txt"],
        bases=["greffe-fr"],
        budget=1200.0,
        seconds=840.5,
        folds=5,
        repeats=1,
        stages=[Stage(name="pretraining", seconds=480.0, size=7_000_000)],
        rungs=[
            Rung(name=name, accuracy=estimate(0.8), over=over, gain=gain, seconds=3.0)
            for name, over, gain in zip(names, overs, gains, strict=True)
        ],
        skipped={"finetuned+aux": 2700.0},
        chosen=["tfidf", "finetuned"],
        expected=estimate(0.82),
        over_tfidf=estimate(0.05),
        doubling=estimate(0.03),
        advice=["labels", "auxiliary", "text", "time", "base"],
        findings=["54 of 2,000 texts are in <both> parts."],
    )

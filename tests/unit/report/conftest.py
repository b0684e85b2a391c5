"""A made-up study with realistic figures, and variants of it."""

from __future__ import annotations

import pytest
from tests.builders import arm, comparison, run_documents, study_document

from greffe.study.document import StudyDocument
from greffe.study.run_document import RunDocument


@pytest.fixture(scope="session")
def study() -> StudyDocument:
    """Six arms, eight seeds, labels, leaks, findings: pretraining helps significantly."""
    return study_document()


@pytest.fixture(scope="session")
def runs() -> list[RunDocument]:
    """A language model, and a classifier fine-tuned from it."""
    return run_documents()


@pytest.fixture(scope="session")
def stacked_runs_study(study: StudyDocument) -> StudyDocument:
    """The same with a feature run, whose arm is best."""
    found = arm("stacked+runs", 0.871, 0.0).model_copy(update={"feature_runs": ["runs/features"]})
    pairs = [("tfidf", 0.075), ("stacked", 0.029)]
    more = [
        comparison("stacked+runs", name, gain, 0.01, p=0.01, is_significant=True)
        for name, gain in pairs
    ]
    return study.model_copy(
        update={"arms": [*study.arms, found], "comparisons": [*study.comparisons, *more]}
    )


@pytest.fixture(scope="session")
def ensemble_study(study: StudyDocument) -> StudyDocument:
    """The same with the ensemble of the base and TF-IDF, which is best."""
    found = arm("ensemble", 0.856, 0.008)
    more = comparison("ensemble", "tfidf", 0.06, 0.01, p=0.01, is_significant=True)
    return study.model_copy(
        update={"arms": [*study.arms, found], "comparisons": [*study.comparisons, more]}
    )


@pytest.fixture(scope="session")
def bare_study(study: StudyDocument) -> StudyDocument:
    """The least that a study has: two arms, nothing to add."""
    plain = {"epochs": [], "calibration": [], "confusion": [], "accuracy_everywhere": None}
    return study.model_copy(
        update={
            "arms": [arm.model_copy(update=plain) for arm in study.arms[:2]],
            "comparisons": study.comparisons[:1],
            "label_curves": None,
            "disagreements": [],
            "parameters": {},
            "pictures": [],
            "samples": [],
            "findings": [],
            "data": study.data.model_copy(update={"repeated": 0}),
            "proof": study.proof.model_copy(update={"moves": [], "probes": []}),
        }
    )

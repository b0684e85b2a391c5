"""The estimator inside pipelines, searches, votes and calibration."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tests.estimators import LABELS, TEXTS, tiny_classifier


def lowercased(texts: list[str]) -> list[str]:
    return [text.lower() for text in texts]


def test_after_a_function_of_texts() -> None:
    pipeline = make_pipeline(FunctionTransformer(lowercased), tiny_classifier())
    pipeline.fit(list(map(str.upper, TEXTS)), LABELS)
    assert pipeline.score(TEXTS, LABELS) == 1.0
    assert pipeline.classes_.tolist() == ["négatif", "positif"]


def test_on_a_column_of_a_table() -> None:
    table = pd.DataFrame({"number": range(len(TEXTS)), "text": TEXTS})
    column = ColumnTransformer([("text", "passthrough", ["text"])])
    pipeline = make_pipeline(column, tiny_classifier()).fit(table, pd.Series(LABELS))
    assert pipeline.score(table, LABELS) == 1.0


def test_in_a_vote_with_tfidf() -> None:
    linear = make_pipeline(TfidfVectorizer(), LogisticRegression())
    vote = VotingClassifier([("greffe", tiny_classifier()), ("tfidf", linear)], voting="soft")
    vote.fit(TEXTS, LABELS)
    assert vote.predict(TEXTS).tolist() == LABELS
    parts = [fitted.predict_proba(TEXTS) for fitted in vote.estimators_]
    assert np.allclose(vote.predict_proba(TEXTS), np.mean(parts, axis=0))


def test_in_a_search() -> None:
    choices = [{"budget": ["1steps", "8steps"]}, {"recipe": ["lab"], "budget": ["1steps"]}]
    search = GridSearchCV(tiny_classifier(), choices, cv=2).fit(TEXTS, LABELS)
    assert search.best_params_ == {"budget": "8steps"}
    assert search.best_score_ > 0.9
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.predict(TEXTS).tolist() == LABELS


@pytest.mark.slow
@pytest.mark.alone
def test_in_other_processes() -> None:
    scores = cross_val_score(tiny_classifier(), TEXTS, LABELS, cv=2, n_jobs=2)
    assert scores.tolist() == [1.0, 1.0]
    calibrated = CalibratedClassifierCV(tiny_classifier(), cv=2, n_jobs=2).fit(TEXTS, LABELS)
    assert calibrated.predict(TEXTS).tolist() == LABELS
    folders = {each.estimator.run_.path for each in calibrated.calibrated_classifiers_}
    assert len(folders) == 2 and all(folder.exists() for folder in folders)
    choices = {"budget": ["1steps", "8steps"]}
    search = GridSearchCV(tiny_classifier(), choices, cv=2, n_jobs=2).fit(TEXTS, LABELS)
    assert search.best_params_ == {"budget": "8steps"}

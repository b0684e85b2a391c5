"""Baselines: what a user would pick instead. A comparison without one says little."""

from __future__ import annotations

from collections.abc import Sequence

from greffe.data.tables import Example


def tfidf_accuracy(train: Sequence[Example], test: Sequence[Example], seed: int = 0) -> float:
    """Accuracy on `test` of TF-IDF (words 1-2, characters 2-5) with logistic regression."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline, make_union

    features = make_union(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True),
    )
    model = make_pipeline(features, LogisticRegression(C=10.0, max_iter=1000, random_state=seed))
    model.fit([example.text for example in train], [example.label for example in train])
    return float(
        model.score([example.text for example in test], [example.label for example in test])
    )

"""Fitting TF-IDF with logistic regression to the 500 shipped reviews, C chosen by cross-validation.

greffe's linear model and the same in scikit-learn alone: a union of two vectorizers, and a grid
search over the same values of C with five folds. The details hold the accuracy on the 400 test
reviews.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.cases import GREFFE, GRID_SEARCH
from benchmarks.settings import Settings
from benchmarks.timing import Contender, Sample
from greffe.baselines.cross_validation import FOLDS, PENALTIES
from greffe.baselines.linear_classifier import fit_linear
from greffe.baselines.logistic_regression import MAX_ITERATIONS, TOLERANCE
from greffe.baselines.tfidf import BLOCKS, OWN
from greffe.data.tables import Example
from greffe.progress import silence
from greffe.samples.reviews import Split, reviews

QUICK_TEXTS = 60
LABELS = ["0", "1"]


def examples(split: Split, settings: Settings) -> list[Example]:
    """Return labelled reviews; in quick mode a few of them."""
    found = [Example(text, label) for label, text in reviews(split)]
    return found[:QUICK_TEXTS] if settings.quick else found


def timed(settings: Settings, fit: Callable[[], Callable[[list[str]], list[str]]]) -> Contender:
    """Time `fit`, which returns what labels texts."""
    watch, test = settings.stopwatch(), examples("test", settings)

    def run(_: int) -> Sample:
        with watch:
            label = fit()
        found = label([example.text for example in test])
        correct = sum(one == example.label for one, example in zip(found, test, strict=True))
        sample = watch.taken().duration(1)
        return Sample(sample.value, None, {**sample.details, "accuracy": correct / len(test)})

    run(0)
    return run


def greffe(settings: Settings) -> Contender:
    """greffe's linear model."""
    silence()
    train = examples("train", settings)

    def fit() -> Callable[[list[str]], list[str]]:
        model = fit_linear(train, LABELS, tfidf=True, base=None, seed=0)
        return lambda texts: [LABELS[best] for best in model.probabilities(texts).argmax(axis=1)]

    return timed(settings, fit)


def grid_search(settings: Settings) -> Contender:
    """The same features, values of C and tolerance in scikit-learn alone."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline, make_union

    train = examples("train", settings)

    def fit() -> Callable[[list[str]], list[str]]:
        features = make_union(*(TfidfVectorizer(**BLOCKS[n], sublinear_tf=True) for n in OWN))
        search = GridSearchCV(
            LogisticRegression(tol=TOLERANCE, max_iter=MAX_ITERATIONS),
            {"C": list(PENALTIES)},
            cv=FOLDS,
            scoring="neg_log_loss",
        )
        model = make_pipeline(features, search)
        model.fit([example.text for example in train], [example.label for example in train])
        return lambda texts: [str(label) for label in model.predict(texts)]

    return timed(settings, fit)


CONTENDERS: dict[str, Callable[[Settings], Contender]] = {GREFFE: greffe, GRID_SEARCH: grid_search}

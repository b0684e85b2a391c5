"""The shipped reviews are what their README says: whole, balanced, varied, and not too easy."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from typing import get_args

import numpy as np
import pytest

from greffe.config.options import Reading
from greffe.data.duplicates import duplicate_groups
from greffe.data.tables import Example, read_examples
from greffe.data.text import read_documents
from greffe.data.words import plain_words
from greffe.samples.reviews import Split, reviews, reviews_folder, unlabelled

PARTS: tuple[Split, ...] = get_args(Split)
BOOKS: tuple[Split, ...] = ("train", "valid", "test")


@pytest.fixture(scope="module")
def labelled() -> list[tuple[str, str]]:
    return [row for part in BOOKS for row in reviews(part)]


@pytest.fixture(scope="module")
def texts(labelled: list[tuple[str, str]]) -> list[str]:
    """All of them, 3,246."""
    return [text for _, text in labelled + reviews("auxiliary")] + unlabelled()


def shared(found: Iterable[tuple[int, Hashable]]) -> list[Hashable]:
    """What more than one text has."""
    owners = defaultdict(set)
    for text, what in found:
        owners[what].add(text)
    return [what for what, several in owners.items() if len(several) > 1]


@pytest.mark.parametrize(
    ("part", "count"), [("train", 500), ("valid", 100), ("test", 400), ("auxiliary", 1946)]
)
def test_each_part_is_whole_and_balanced(part: Split, count: int) -> None:
    rows = reviews(part)
    assert Counter(label for label, _ in rows) == {"0": count // 2, "1": count // 2}
    # Not sorted by label: whoever takes the first half has both.
    first = sum(label == "1" for label, _ in rows[: count // 2]) / (count // 2)
    assert 0.35 < first < 0.65


def test_there_are_300_without_a_label() -> None:
    assert len(unlabelled()) == 300
    assert not any(text.startswith(("0\t", "1\t")) for text in unlabelled())


def test_greffe_reads_the_files_as_they_are_read_here() -> None:
    for part in PARTS:
        found = list(read_examples(reviews_folder() / f"{part}.tsv", Reading()))
        assert found == [Example(text, label) for label, text in reviews(part)]
    source = str(reviews_folder() / "unlabelled.txt")
    assert list(read_documents(source, Reading())) == unlabelled()


def test_every_text_is_one_clean_line(texts: list[str]) -> None:
    for text in texts:
        assert text and text == text.strip()
        assert text.splitlines() == [text] and "\t" not in text
        assert unicodedata.is_normalized("NFC", text)


def test_no_two_are_equal_or_nearly_so(texts: list[str]) -> None:
    assert len(set(texts)) == len(texts)
    assert len(set(duplicate_groups(texts))) == len(texts)


def test_no_two_share_a_frame(texts: list[str]) -> None:
    words = [plain_words(text) for text in texts]
    assert shared((index, tuple(text[:4])) for index, text in enumerate(words)) == []
    runs = (
        (index, tuple(text[start : start + 7]))
        for index, text in enumerate(words)
        for start in range(len(text) - 6)
    )
    assert shared(runs) == []


def test_from_one_line_to_a_paragraph(labelled: list[tuple[str, str]]) -> None:
    by_label = {
        wanted: np.array([len(plain_words(text)) for label, text in labelled if label == wanted])
        for wanted in "01"
    }
    for counts in by_label.values():
        tenth, half, most = np.percentile(counts, [10, 50, 90])
        assert tenth <= 12 and 25 <= half <= 45 and most >= 70
        assert counts.min() >= 3 and counts.max() <= 150
    # Length alone tells nothing about the verdict.
    assert by_label["1"].mean() == pytest.approx(by_label["0"].mean(), rel=0.1)


def test_some_are_careless(texts: list[str]) -> None:
    assert np.mean([text[0].islower() for text in texts]) > 0.03
    assert np.mean([text[-1].isalnum() for text in texts]) > 0.03


@pytest.mark.parametrize("longest", [1, 2])
def test_tfidf_leaves_something_to_win(labelled: list[tuple[str, str]], longest: int) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline

    labels, texts = zip(*labelled, strict=True)
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, longest)), LogisticRegression(C=10, max_iter=1000)
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert 0.75 < cross_val_score(model, texts, labels, cv=folds).mean() < 0.90

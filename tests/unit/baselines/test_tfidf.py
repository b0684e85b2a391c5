"""TF-IDF: equal to scikit-learn, and bit-identical when restored from lists."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union

from greffe.baselines.tfidf import SHARED, Tfidf, check_terms
from greffe.errors import CorruptError, DataError

NEW = ["Un livre inconnu, très beau !", "", "zzz", "Ce livre est magnifique au chapitre 3."]


def test_rows_equal_scikit_learns(tiny_texts: list[str]) -> None:
    usual = make_union(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True),
    )
    expected = usual.fit_transform(tiny_texts)
    fitted, rows = Tfidf.fit(tiny_texts)
    assert rows.shape == expected.shape == (len(tiny_texts), fitted.columns)
    np.testing.assert_allclose(rows.toarray(), expected.toarray(), atol=1e-6)
    np.testing.assert_allclose(
        fitted.transform(NEW).toarray(), usual.transform(NEW).toarray(), atol=1e-6
    )


def test_fit_and_transform_give_equal_rows(tiny_texts: list[str]) -> None:
    fitted, rows = Tfidf.fit(tiny_texts)
    again = fitted.transform(tiny_texts)
    assert (rows != again).nnz == 0 and rows.dtype == np.float32


def test_restored_from_json_it_is_bit_identical(tiny_texts: list[str]) -> None:
    fitted, _ = Tfidf.fit([*tiny_texts, "un mot \udc80 étrange", "日本 語"])
    written = json.loads(json.dumps(fitted.vocabularies))
    restored = Tfidf.restore(written, {name: array.copy() for name, array in fitted.idf.items()})
    texts = [*tiny_texts, *NEW]
    before, after = fitted.transform(texts), restored.transform(texts)
    assert (before != after).nnz == 0 and before.nnz > 1000


def test_an_unknown_text_is_a_row_of_zeros(tiny_texts: list[str]) -> None:
    fitted, _ = Tfidf.fit(tiny_texts)
    assert fitted.transform(["", "Ж"]).nnz == 0


def test_a_block_without_terms_is_left_out() -> None:
    fitted, rows = Tfidf.fit(["a !", "b ?", "a ?"])
    assert list(fitted.vocabularies) == ["characters"]
    assert rows.shape[1] == fitted.columns == len(fitted.vocabularies["characters"]) > 0
    assert (fitted.transform(["a !"]) != rows[[0]]).nnz == 0


@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_texts_without_a_word_are_an_error(texts: list[str]) -> None:
    for check in (Tfidf.fit, check_terms):
        with pytest.raises(DataError, match="no word"):
            check(texts)


def test_terms_are_looked_for_in_as_few_texts_as_possible() -> None:
    def first_text_only() -> Iterator[str]:
        yield "Un livre."
        raise AssertionError("read on")

    check_terms(first_text_only())  # type: ignore[arg-type]
    with pytest.raises(DataError, match="occur in 2"):
        check_terms(["un livre", "des films"], SHARED)
    check_terms(["un livre", "un film"], SHARED)


def test_terms_and_weights_must_match(tiny_texts: list[str]) -> None:
    fitted, _ = Tfidf.fit(tiny_texts)
    fewer = {name: array[:-1] for name, array in fitted.idf.items()}
    with pytest.raises(CorruptError, match="do not match"):
        Tfidf.restore(fitted.vocabularies, fewer)
    twice = {name: [terms[0], *terms[:-1]] for name, terms in fitted.vocabularies.items()}
    with pytest.raises(CorruptError, match="do not match"):
        Tfidf.restore(twice, fitted.idf)


def test_shared_words_ignore_accents_and_rare_words() -> None:
    shared, rows = Tfidf.fit(["Très beau !", "tres laid", "autre"], SHARED)
    assert shared.vocabularies == {"shared": ["tres"]} and rows.shape == (3, 1)
    own, _ = Tfidf.fit(["Très beau !"])
    assert list((shared | own).vocabularies) == ["words", "characters", "shared"]

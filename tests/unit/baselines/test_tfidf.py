"""TF-IDF: as scikit-learn makes it, and the same to the last bit when rebuilt from lists."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union

from greffe.baselines.tfidf import Tfidf
from greffe.errors import CorruptError, DataError

NEW = ["Un livre inconnu, très beau !", "", "zzz", "Ce livre est magnifique au chapitre 3."]


def test_it_is_what_scikit_learn_makes(tiny_texts: list[str]) -> None:
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


def test_fitted_rows_are_those_of_transform(tiny_texts: list[str]) -> None:
    fitted, rows = Tfidf.fit(tiny_texts)
    again = fitted.transform(tiny_texts)
    assert (rows != again).nnz == 0 and rows.dtype == np.float32


def test_rebuilt_from_json_it_is_equal_to_the_last_bit(tiny_texts: list[str]) -> None:
    fitted, _ = Tfidf.fit([*tiny_texts, "un mot \udc80 étrange", "日本 語"])
    written = json.loads(json.dumps(fitted.vocabularies))
    rebuilt = Tfidf(written, {name: array.copy() for name, array in fitted.idf.items()})
    texts = [*tiny_texts, *NEW]
    before, after = fitted.transform(texts), rebuilt.transform(texts)
    assert (before != after).nnz == 0 and before.nnz > 1000


def test_an_unknown_text_is_a_row_of_zeros(tiny_texts: list[str]) -> None:
    fitted, _ = Tfidf.fit(tiny_texts)
    assert fitted.transform(["", "Ж"]).nnz == 0


def test_texts_of_single_signs_have_characters_and_no_words() -> None:
    fitted, rows = Tfidf.fit(["a !", "b ?", "a ?"])
    assert fitted.vocabularies["words"] == []
    assert rows.shape[1] == fitted.columns == len(fitted.vocabularies["characters"]) > 0
    assert (fitted.transform(["a !"]) != rows[[0]]).nnz == 0


@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_texts_without_a_word_are_an_error(texts: list[str]) -> None:
    with pytest.raises(DataError, match="no word"):
        Tfidf.fit(texts)


def test_terms_and_weights_must_be_as_many(tiny_texts: list[str]) -> None:
    fitted, _ = Tfidf.fit(tiny_texts)
    fewer = {name: array[:-1] for name, array in fitted.idf.items()}
    with pytest.raises(CorruptError, match="do not belong together"):
        Tfidf(fitted.vocabularies, fewer)
    twice = {name: [terms[0], *terms[:-1]] for name, terms in fitted.vocabularies.items()}
    with pytest.raises(CorruptError, match="do not belong together"):
        Tfidf(twice, fitted.idf)

"""The index of runs finds exactly what a plain search finds."""

from __future__ import annotations

import numpy as np
import pytest

from greffe.data import ngram_index
from greffe.data.ngram_index import NgramIndex
from greffe.data.words import plain_words
from greffe.seeding import rng

WORDS = [f"w{number}" for number in range(400)]


def search(texts, documents, size):
    """Covered words of each text, by comparing lists."""
    stood = [plain_words(document) for document in documents]
    covered = []
    for text in texts:
        words = plain_words(text)
        length = min(size, len(words))
        marks = [False] * len(words)
        for start in range(len(words) - length + 1) if length >= min(5, size) else ():
            run = words[start : start + length]
            if any(
                run == other[at : at + length]
                for other in stood
                for at in range(len(other) - length + 1)
            ):
                marks[start : start + length] = [True] * length
        covered.append(sum(marks))
    return covered


def find(texts, documents, size):
    index = NgramIndex(texts, size)
    is_found = np.zeros(index.ngrams, np.bool_)
    is_found[index.find(documents).ngrams] = True
    owners = np.repeat(np.arange(len(texts)), index.lengths)
    return np.bincount(owners[index.covered(is_found)], minlength=len(texts)).tolist()


@pytest.mark.parametrize("seed", range(8))
def test_the_same_as_a_plain_search(seed):
    draw = rng(seed, "runs")
    # Few words, so that runs repeat inside texts and across them.
    documents = [" ".join(draw.choice(WORDS[:2], int(draw.integers(0, 40)))) for _ in range(10)]
    words = [*(WORDS[:2] * 6), WORDS[2]]
    texts = [" ".join(draw.choice(words, int(draw.integers(0, 25)))) for _ in range(60)]
    expected = search(texts, documents, 8)
    assert sum(words > 0 for words in expected) > 5
    assert sum(words == 0 for words in expected) > 5
    assert find(texts, documents, 8) == expected


def test_a_run_does_not_cross_from_one_document_into_the_next():
    text = " ".join(WORDS[:20])
    assert find([text], [text], 13) == [20]
    assert find([text], [" ".join(WORDS[:12]), " ".join(WORDS[12:20])], 13) == [0]
    assert find([text], [" ".join(WORDS[:13]), " ".join(WORDS[13:20])], 13) == [13]


def test_case_punctuation_and_unknown_words_around_do_not_matter():
    text = " ".join(WORDS[:13])
    document = "Inconnu, " + ", ".join(WORDS[:13]).upper() + ". DOCUMENT inconnu"
    assert find([text], ["autre", document], 13) == [13]
    index = NgramIndex([text], 13)
    assert index.find(["autre", document, document]).documents.tolist() == [1]


def test_runs_are_compared_word_by_word(monkeypatch):
    monkeypatch.setattr(ngram_index, "_FACTOR", np.uint64(0))  # hashes of the last word alone
    text = " ".join(WORDS[:13])
    other = " ".join([*reversed(WORDS[:12]), WORDS[12]])
    assert find([text], [other], 13) == [0]
    assert find([text], [text], 13) == [13]


def test_short_texts_count_as_a_whole_and_very_short_ones_never():
    document = " ".join(WORDS[:30])
    whole, part, tiny = " ".join(WORDS[3:10]), " ".join(WORDS[25:31]), " ".join(WORDS[:4])
    assert find([whole, part, tiny, ""], [document], 13) == [7, 0, 0, 0]


def test_an_index_of_nothing_finds_nothing():
    assert find([], ["un deux trois"], 13) == []
    assert find(["un", ""], ["un deux trois", ""], 13) == [0, 0]
    assert NgramIndex(["un"], 13).find([]).ngrams.tolist() == []


def test_words_and_ngrams_by_position():
    index = NgramIndex(["A b c d e f", "c d e f g"], 5)
    assert index.ngrams == 3
    assert index.words(1, 4) == "b c d"
    assert index.ngram_at(6) not in (index.ngram_at(0), index.ngram_at(1))

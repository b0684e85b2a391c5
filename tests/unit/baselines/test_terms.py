"""Terms of a text without scikit-learn: they are those of its vectorizers."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.baselines.terms import TermCounter, analyzer
from greffe.baselines.tfidf import BLOCKS, _vectorizer

TEXTS = st.text(
    alphabet=st.sampled_from("aàÉœß1_ .!?'’-\t\n\u00a0ﬁ漢字İ") | st.characters(), max_size=60
)


@pytest.mark.parametrize("block", BLOCKS)
@settings(deadline=None)  # scikit-learn is imported in the first call
@given(text=TEXTS)
def test_terms_are_those_of_scikit_learn(block: str, text: str) -> None:
    theirs = _vectorizer(block).build_analyzer()(text)
    assert Counter(analyzer(BLOCKS[block])(text)) == Counter(theirs)


def test_counts_of_several_texts_are_padded_with_zeros() -> None:
    counter = TermCounter("words", ["bon", "livre", "bon livre"])
    columns, counts = counter.count(["Bon livre, bon livre !", "", "bon inconnu"])
    assert counts.tolist() == [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert sorted(columns[0]) == [0, 1, 2]
    assert columns[2, 0] == 0
    assert columns.dtype == np.int64


def test_no_text_has_no_rows() -> None:
    columns, counts = TermCounter("words", ["bon"]).count([])
    assert columns.shape == counts.shape == (0, 1)


def test_scikit_learn_is_not_imported() -> None:
    code = (
        "import sys, greffe.baselines.terms; print({'sklearn', 'scipy', 'torch'} & {*sys.modules})"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"

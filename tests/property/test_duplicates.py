"""Duplicates are an equivalence of texts, whatever their order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.data.duplicates import find_duplicates
from greffe.data.words import normalize

_words = st.sampled_from(["le", "Le", "livre", "livres", "beau", "très", "!", "…", "fin", "", "👍"])
_texts = st.lists(st.lists(_words, max_size=14).map(" ".join) | st.text(max_size=12), max_size=12)


def classes(numbers, texts):
    """The sets of texts that share a number."""
    groups = {}
    for number, text in zip(numbers, texts, strict=True):
        groups.setdefault(number, set()).add(text)
    return {frozenset(members) for members in groups.values()}


@given(_texts, st.randoms())
@settings(max_examples=150, deadline=None)
def test_an_equivalence_that_does_not_depend_on_order(texts, random):
    shuffled = random.sample(texts, len(texts))
    found, again = find_duplicates(texts), find_duplicates(shuffled)
    assert classes(found.groups, texts) == classes(again.groups, shuffled)
    assert classes(found.exact, texts) == classes(again.exact, shuffled)
    # Equal texts have one number, so the classes of texts do not overlap.
    assert sum(map(len, classes(found.groups, texts))) == len(set(texts))


@given(_texts)
@settings(max_examples=150, deadline=None)
def test_equal_texts_are_in_one_group_and_numbers_count_by_first_appearance(texts):
    found = find_duplicates(texts)
    for numbers in (found.exact, found.groups):
        firsts = list(dict.fromkeys(numbers))
        assert firsts == list(range(len(firsts)))
    plain = [normalize(text) for text in texts]
    for first in range(len(texts)):
        for second in range(len(texts)):
            assert (found.exact[first] == found.exact[second]) == (plain[first] == plain[second])
            if found.exact[first] == found.exact[second]:
                assert found.groups[first] == found.groups[second]


@given(st.text(max_size=30))
@settings(max_examples=300, deadline=None)
def test_normalising_twice_changes_nothing(text):
    assert normalize(normalize(text)) == normalize(text)

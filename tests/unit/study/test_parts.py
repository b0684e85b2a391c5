"""Parts of a study's data: no text on two sides, few labels drawn fairly."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.data.tables import Example
from greffe.errors import DataError
from greffe.study.parts import (
    Parts,
    check_label_counts,
    check_measurable,
    few_labels,
    labelled_subset,
    part_data,
)

WORDS = ("chat", "chien", "lune", "mer", "vent", "pluie", "arbre", "route", "livre", "page", "sel")


def review(number: int) -> str:
    """A text that shares no run of three words with another one's."""
    drawn = [(number * 7 + step * (number % 13 + 1)) % len(WORDS) for step in range(9)]
    return " ".join(f"{WORDS[word]}{number}" for word in drawn)


def examples(count: int, labels: str = "ab", start: int = 0) -> list[Example]:
    return [Example(review(start + n), labels[n % len(labels)]) for n in range(count)]


def test_a_part_that_is_given_stays_as_it_is() -> None:
    train, valid, test = examples(40), examples(10, start=100), examples(20, start=200)
    parts = part_data(train, valid, test, seed=0)
    assert (parts.train, parts.valid, parts.test) == (train, valid, test)
    assert parts.labels == ["a", "b"]
    assert parts.labelled == 40
    assert not any(parts.is_repeated)
    assert parts.is_split == {"train": False, "valid": False, "test": False}


def test_missing_parts_are_split_off_by_class() -> None:
    everything = examples(100)
    parts = part_data(everything, None, None, seed=0)
    assert len(parts.test) == 20
    assert len(parts.valid) == 16
    assert len(parts.train) == 64
    together = Counter((*parts.train, *parts.valid, *parts.test))
    assert together == Counter(everything)
    assert Counter(example.label for example in parts.test) == {"a": 10, "b": 10}
    assert parts.is_split == {"train": False, "valid": True, "test": True}


def test_the_split_depends_on_the_seed_alone() -> None:
    everything = examples(60)
    assert part_data(everything, None, None, 0) == part_data(everything, None, None, 0)
    assert part_data(everything, None, None, 0).test != part_data(everything, None, None, 1).test


def test_like_texts_stay_on_one_side() -> None:
    everything = examples(60)
    twins = [Example(f"{example.text.upper()} !", example.label) for example in everything[:20]]
    parts = part_data([*everything, *twins], None, None, seed=3)
    sides = [
        {example.text.casefold().rstrip(" !") for example in side}
        for side in (parts.train, parts.valid, parts.test)
    ]
    assert not sides[0] & sides[1]
    assert not sides[0] & sides[2]
    assert not sides[1] & sides[2]
    assert not any(parts.is_repeated)


def test_a_planted_leak_is_marked() -> None:
    train, valid = examples(40), examples(10, start=100)
    test = examples(20, start=200)
    test[3] = Example(train[5].text, "a")
    test[7] = Example(f"  {valid[2].text.capitalize()} …", "b")
    parts = part_data(train, valid, test, seed=0)
    assert [index for index, repeated in enumerate(parts.is_repeated) if repeated] == [3, 7]


def test_a_label_that_training_never_saw_is_an_error() -> None:
    with pytest.raises(DataError, match="test part has labels") as caught:
        part_data(examples(20), examples(10, start=100), [Example("autre", "c")], seed=0)
    assert caught.value.found == "c"


@pytest.mark.parametrize("part", ["train", "valid"])
def test_test_texts_that_all_occur_elsewhere_are_an_error(part: str) -> None:
    parts = {"train": examples(40), "valid": examples(10, start=100)}
    new = Example("un texte que rien ne répète", "a")
    check_measurable(part_data(parts["train"], parts["valid"], [*parts[part], new], seed=0))
    with pytest.raises(DataError, match="nothing can be measured"):
        check_measurable(part_data(parts["train"], parts["valid"], parts[part], seed=0))


def test_a_label_for_almost_every_text_is_an_error() -> None:
    own = [Example(review(n), str(n)) for n in range(40)]
    with pytest.raises(DataError, match="different labels"):
        part_data(own, own[:5], examples(2, "01", start=100), seed=0)


def test_too_few_texts_to_split() -> None:
    with pytest.raises(DataError, match="too few labelled texts"):
        part_data([Example("un", "a"), Example("deux", "b")], None, None, seed=0)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.sampled_from("abc"), min_size=6, max_size=60),
    st.integers(0, 100),
    st.data(),
)
def test_few_labels_are_nested_stratified_and_in_order(
    labels: list[str], seed: int, data: st.DataObject
) -> None:
    pool = [Example(f"texte {index}", label) for index, label in enumerate(labels)]
    small = data.draw(st.integers(3, len(pool)))
    large = data.draw(st.integers(small, len(pool)))
    few, more = few_labels(pool, small, seed), few_labels(pool, large, seed)
    assert len(few) == small
    assert set(few) <= set(more)
    assert {example.label for example in few} == set(labels)
    assert [pool.index(example) for example in few] == sorted(pool.index(e) for e in few)
    for label in set(labels):
        fair = small * labels.count(label) / len(labels)
        assert abs(sum(example.label == label for example in few) - fair) <= len(set(labels))


def test_other_seeds_draw_other_labels() -> None:
    pool = examples(60)
    assert few_labels(pool, 10, 1) != few_labels(pool, 10, 2)


def parts_of(train: int, valid: int) -> Parts:
    return part_data(examples(train), examples(valid, start=1000), examples(10, start=2000), seed=0)


def test_few_labels_have_few_validation_texts_too() -> None:
    parts = parts_of(80, 20)
    train, valid = labelled_subset(parts, 40, seed=1)
    assert (len(train), len(valid)) == (40, 10)
    assert labelled_subset(parts, 80, seed=1) == (parts.train, parts.valid)


def test_every_class_is_trained_and_validated_with_the_fewest_labels() -> None:
    train, valid = labelled_subset(parts_of(90, 10), 4, seed=1)
    assert (len(train), len(valid)) == (4, 2)
    assert {example.label for example in train} == {"a", "b"}
    assert {example.label for example in valid} == {"a", "b"}


@pytest.mark.parametrize("count", [3, 81])
def test_impossible_numbers_of_labels(count: int) -> None:
    with pytest.raises(DataError, match=f"{count} labels cannot be drawn") as caught:
        check_label_counts([10, count], parts_of(80, 20))
    assert "from 4 (two per class) to 80" in str(caught.value)

"""The made-up reviews and the made-up language: what tests and the demo rely on."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from greffe.samples.lexicon import NEGATIVE, POSITIVE, Sentiment
from greffe.samples.toy import LABELS, MarkovLanguage, toy_documents, toy_reviews

DOCUMENT = "Bonjour les curieux, la fin est sublime et indispensable, c'est un trésor."
REVIEW = (
    "négatif",
    (
        "Ce livre afflige tout le monde. La lune revient à chaque page. "
        "Le poète décrit un jardin en automne."
    ),
)

MOODS = dict(zip(LABELS, (POSITIVE, NEGATIVE), strict=True))


def mood_words(text: str, sentiment: Sentiment) -> list[str]:
    """The text's words that belong to the sentiment."""
    return [word for word in re.findall(r"\w+", text.lower()) if word in sentiment.words]


def split(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Labels and texts."""
    labels, texts = zip(*toy_reviews(count, seed), strict=True)
    return list(labels), list(texts)


# --- reviews ------------------------------------------------------------------------------------


def test_equal_seeds_give_equal_texts_and_others_do_not() -> None:
    assert list(toy_documents(50, 1)) == list(toy_documents(50, 1))
    assert list(toy_reviews(50, 1)) == list(toy_reviews(50, 1))
    assert not set(toy_documents(50, 1)) & set(toy_documents(50, 2))
    assert split(50, 1) != split(50, 2)


def test_the_texts_stay_the_same_from_version_to_version() -> None:
    assert next(toy_documents(1, 0)) == DOCUMENT
    assert next(toy_reviews(1, 0)) == REVIEW


def test_a_larger_count_adds_at_the_end() -> None:
    assert list(toy_documents(60, 1))[:20] == list(toy_documents(20, 1))
    assert list(toy_reviews(60, 1))[:20] == list(toy_reviews(20, 1))
    assert not list(toy_documents(0, 1))


def test_labels_are_balanced_in_every_even_prefix() -> None:
    labels, _ = split(200, 3)
    for count in range(2, 201, 2):
        assert labels[:count].count("positif") == count // 2
    # The order inside a pair is drawn: the position does not reveal the label.
    assert 30 < labels[::2].count("positif") < 70


def test_a_labelled_review_has_one_or_two_words_of_its_sentiment_and_none_of_the_other() -> None:
    counts = Counter()
    for label, text in toy_reviews(400, 4):
        other = LABELS[1 - LABELS.index(label)]
        assert not mood_words(text, MOODS[other])
        counts[len(mood_words(text, MOODS[label]))] += 1
    assert set(counts) == {1, 2}
    assert min(counts.values()) > 150


def test_an_unlabelled_review_keeps_one_sentiment_and_is_rich_in_it() -> None:
    richness = []
    for text in toy_documents(400, 4):
        positive, negative = mood_words(text, POSITIVE), mood_words(text, NEGATIVE)
        assert bool(positive) != bool(negative)
        richness.append(len(positive) + len(negative))
        assert 1 <= len(re.findall(r"\.(?: |$)", text)) <= 4
    assert min(richness) >= 2
    assert np.mean(richness) > 3.5


def test_every_word_of_both_sentiments_is_used() -> None:
    seen = set(re.findall(r"\w+", " ".join(toy_documents(3000, 5)).lower()))
    assert seen >= POSITIVE.words | NEGATIVE.words


def test_the_label_is_nowhere_in_the_text() -> None:
    texts = " ".join([*toy_documents(1000, 6), *split(1000, 6)[1]]).lower()
    assert not re.search(r"positi|négati|negati", texts)


def test_nothing_but_sentiment_words_tells_the_label() -> None:
    """A word seen often enough to judge is as frequent on both sides, unless it has a sentiment."""
    labels, texts = split(6000, 7)
    seen = {label: Counter[str]() for label in LABELS}
    for label, text in zip(labels, texts, strict=True):
        seen[label].update(set(re.findall(r"\w+", text.lower())))
    for word in set(seen["positif"]) | set(seen["négatif"]):
        if word not in POSITIVE.words | NEGATIVE.words:
            positive, negative = (seen[label][word] for label in LABELS)
            assert abs(positive - negative) < 4.5 * (positive + negative) ** 0.5, word


def test_sentences_are_well_formed() -> None:
    for text in (*toy_documents(500, 8), *split(500, 8)[1]):
        assert text.endswith(".")
        assert "{" not in text and "  " not in text
        for sentence in text.removesuffix(".").split(". "):
            assert sentence[0].isupper()
        # Elision and agreement of articles with what follows.
        assert not re.search(r"\b(?:le|la|ce|de|que|je|me) [aeiouéèêœ]", text.lower())
        for article, noun in re.findall(r"\b(un|une) (\w+)", text.lower()):
            assert noun not in {"un": POSITIVE.feminine + NEGATIVE.feminine}.get(
                article, POSITIVE.masculine + NEGATIVE.masculine
            )


def test_the_prompt_can_be_continued_in_several_ways() -> None:
    texts = list(toy_documents(500, 9))
    greeted = Counter(
        match[1] for text in texts if (match := re.match(r"Bonjour les (\w+),", text))
    )
    assert 100 < sum(greeted.values()) < 200
    assert {"lecteurs", "amis"} <= set(greeted)
    assert len(greeted) >= 6


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_few_labels_leave_room_and_many_do_not(seed: int) -> None:
    """With 60 labels TF-IDF is above chance and far below what the text allows, which is 100 %."""
    test_labels, test_texts = split(1000, 1000)

    def accuracy(count: int) -> float:
        labels, texts = split(count, seed)
        model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10))
        return float(model.fit(texts, labels).score(test_texts, test_labels))

    assert 0.52 < accuracy(60) < 0.70
    assert accuracy(2000) > 0.97


# --- the made-up language -----------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_the_language_is_a_function_of_its_seed(order: int) -> None:
    first, same, other = (MarkovLanguage(seed, order=order, words=12) for seed in (1, 1, 2))
    assert first.words == same.words != other.words
    assert list(first.documents(5, 3)) == list(same.documents(5, 3))
    assert list(first.documents(5, 3)) != list(first.documents(5, 4))
    assert list(first.documents(9, 3))[:5] == list(first.documents(5, 3))


def test_words_are_distinct_and_equally_long() -> None:
    language = MarkovLanguage(0, words=40)
    assert len(set(language.words)) == 40
    assert {len(word) for word in language.words} == {4}
    assert language.bits_per_byte == pytest.approx(language.entropy_rate / 5)


@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("order", [1, 2])
def test_documents_have_the_length_asked_for(order: int, length: int) -> None:
    language = MarkovLanguage(0, order=order, words=8)
    assert {len(text.split()) for text in language.documents(20, 0, length=length)} == {length}


@pytest.mark.parametrize("order", [1, 2])
def test_the_stationary_distribution_stays(order: int) -> None:
    language = MarkovLanguage(5, order=order, words=10)
    assert language.stationary.min() > 0
    assert language.stationary.sum() == pytest.approx(1)
    assert language.stationary @ language._transitions == pytest.approx(language.stationary)


@pytest.mark.parametrize("order", [1, 2])
def test_entropies_agree_with_a_large_sample(order: int) -> None:
    """Plug-in entropies of some hundred thousand words, from nothing but counts of neighbours."""
    language = MarkovLanguage(7, order=order, words=8, branching=3)
    windows: Counter[tuple[str, ...]] = Counter()
    for text in language.documents(6000, 0, length=60):
        words = text.split()
        windows.update(zip(*(words[shift:] for shift in range(2 * order + 1)), strict=False))

    def entropy(kept: list[int]) -> float:
        counts: Counter[tuple[str, ...]] = Counter()
        for window, count in windows.items():
            counts[tuple(window[index] for index in kept)] += count
        frequencies = np.array(list(counts.values())) / windows.total()
        return float(-(frequencies * np.log2(frequencies)).sum())

    everything = list(range(2 * order + 1))
    before = everything[:order]
    around = [index for index in everything if index != order]
    assert entropy([*before, order]) - entropy(before) == pytest.approx(
        language.entropy_rate, abs=0.02
    )
    assert entropy(everything) - entropy(around) == pytest.approx(language.masked_entropy, abs=0.03)


@pytest.mark.parametrize("order", [1, 2])
def test_what_is_known_on_both_sides_is_worth_something(order: int) -> None:
    language = MarkovLanguage(0, order=order)
    assert 0 < language.masked_entropy < language.entropy_rate < np.log2(len(language.words))


def test_a_second_order_language_needs_two_words_of_memory() -> None:
    language = MarkovLanguage(1, order=2, words=12)
    pairs: Counter[tuple[str, str]] = Counter()
    for text in language.documents(2000, 0):
        pairs.update(itertools.pairwise(text.split()))
    first: Counter[str] = Counter()
    for (word, _), count in pairs.items():
        first[word] += count
    bits = -sum(
        count / pairs.total() * np.log2(count / first[word]) for (word, _), count in pairs.items()
    )
    assert bits > language.entropy_rate + 0.5

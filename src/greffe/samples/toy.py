"""Synthetic texts: book reviews in French, and a Markov chain over artificial words.

The reviews are made so that pretraining helps: in the unlabelled ones, words of the same sentiment
occur together; a labelled one has only one or two such words, so that few labels cover few of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np

from greffe.samples import lexicon
from greffe.samples.lexicon import Sentiment, Topic
from greffe.seeding import rng

_T = TypeVar("_T")

LABELS = ("positif", "négatif")
_SENTIMENTS = dict(zip(LABELS, (lexicon.POSITIVE, lexicon.NEGATIVE), strict=True))


def toy_documents(count: int, seed: int) -> Iterator[str]:
    """Yield unlabelled reviews of one to four sentences with many words of one sentiment.

    A document depends only on the seed and its index: a larger count adds documents at the end.
    """
    for index in range(count):
        writer = _Writer(rng(seed, "toy", "document", index))
        sentiment = _SENTIMENTS[writer.pick(LABELS)]
        sentences = [writer.opinion(sentiment, words=writer.roll(2, 3))]
        for _ in range(writer.roll(0, 3)):
            is_opinion = writer.chance(0.8)
            sentences.append(
                writer.opinion(sentiment, words=writer.roll(1, 3))
                if is_opinion
                else writer.neutral()
            )
        yield writer.review(sentences)


def toy_reviews(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield labelled reviews (label, text) with one or two words that reveal the label.

    Labels alternate within each pair, so any even count is exactly balanced.
    """
    for index in range(count):
        first = int(rng(seed, "toy", "pair", index // 2).integers(2))
        label = LABELS[(first + index) % 2]
        writer = _Writer(rng(seed, "toy", "review", index))
        sentences = [writer.neutral() for _ in range(writer.roll(0, 2))]
        position = writer.roll(0, len(sentences))
        sentences.insert(position, writer.opinion(_SENTIMENTS[label], words=writer.roll(1, 2)))
        yield label, writer.review(sentences)


class _Writer:
    """Write one review about one topic."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._topic: Topic = self.pick(lexicon.TOPICS)

    def pick(self, options: Sequence[_T]) -> _T:
        return options[int(self._generator.integers(len(options)))]

    def roll(self, lowest: int, highest: int) -> int:
        return int(self._generator.integers(lowest, highest + 1))

    def chance(self, probability: float) -> bool:
        return bool(self._generator.random() < probability)

    def opinion(self, sentiment: Sentiment, *, words: int) -> str:
        subject = self.pick(self._topic.subjects + lexicon.SUBJECTS)
        slots = {"subject": subject, "reader": self.pick(lexicon.READERS)}
        for kind, options in (
            ("adjective", sentiment.adjectives),
            ("verb", sentiment.verbs),
            ("noun", sentiment.nouns),
        ):
            slots[kind], slots[f"{kind}_2"], slots[f"{kind}_3"] = self._generator.choice(
                options, 3, replace=False
            )
        return self.pick(lexicon.OPINIONS[words]).format(**slots)

    def neutral(self) -> str:
        sentence = self.pick(self._topic.scenes + lexicon.NEUTRAL)
        return sentence.format(number=self.pick(lexicon.NUMBERS))

    def review(self, sentences: Sequence[str]) -> str:
        first, *rest = sentences
        if self.chance(0.3):
            first = f"Bonjour les {self.pick(lexicon.GREETED)}, {first}"
        return " ".join(f"{text[0].upper()}{text[1:]}." for text in (first, *rest))


class MarkovLanguage:
    """A seeded Markov chain over artificial words with known entropy.

    Each word depends on the `order` words before it. All words have four letters, so that bits per
    word and bits per byte (including the space after the word) are proportional.
    """

    _LETTERS = 4

    def __init__(
        self, seed: int = 0, *, words: int = 32, order: int = 1, branching: int = 4
    ) -> None:
        syllables = ["".join(pair) for pair in itertools.product("bdfgklmnprstvz", "aeiou")]
        generator = rng(seed, "toy", "markov")
        vocabulary = ["".join(pair) for pair in itertools.product(syllables, repeat=2)]
        self.words: tuple[str, ...] = tuple(
            generator.choice(vocabulary, words, replace=False).tolist()
        )
        self.order = order
        states = words**order
        likely = np.zeros((states, words))
        for row in likely:
            successors = generator.choice(words, branching, replace=False)
            row[successors] = generator.dirichlet(np.ones(branching))
        # A small probability for every word keeps the chain irreducible.
        self.next_word = 0.98 * likely + 0.02 / words  # (states, words)

    def documents(self, count: int, seed: int, *, length: int = 48) -> Iterator[str]:
        """Yield documents of `length` words that start from the stationary distribution."""
        cumulative = self.next_word.cumsum(axis=1)
        start = self.stationary.cumsum()
        for index in range(count):
            draws = rng(seed, "toy", "markov document", index).random(length)
            state = _invert(start, float(draws[0]))
            chosen = list(self._state_words(state))
            for draw in draws[self.order :]:
                word = _invert(cumulative[state], float(draw))
                chosen.append(word)
                state = self._follow(state, word)
            yield " ".join(self.words[word] for word in chosen[:length])

    @cached_property
    def stationary(self) -> np.ndarray:
        """The stationary distribution over states; a state is the last `order` words."""
        states = len(self.next_word)
        # stationary · transitions = stationary, with one equation replaced by: they sum to one.
        equations = self._transitions.T - np.eye(states)
        equations[-1] = 1.0
        return np.linalg.solve(equations, np.eye(states)[-1])

    @cached_property
    def entropy_rate(self) -> float:
        """Bits per word given all words before it: the lower bound for a causal model."""
        return self._conditional_entropy(self.next_word)

    @cached_property
    def masked_entropy(self) -> float:
        """Bits per word given all words on both sides: the lower bound for a masked model."""
        # H(word | both sides) = H(word, next ones | before) - H(next ones | before).
        after = np.linalg.matrix_power(self._transitions, self.order + 1)
        return (self.order + 1) * self.entropy_rate - self._conditional_entropy(after)

    @property
    def bits_per_byte(self) -> float:
        """The entropy rate per byte of text, including the space after each word."""
        return self.entropy_rate / (self._LETTERS + 1)

    @cached_property
    def _transitions(self) -> np.ndarray:
        states, words = self.next_word.shape
        transitions = np.zeros((states, states))
        for state in range(states):
            for word in range(words):
                transitions[state, self._follow(state, word)] = self.next_word[state, word]
        return transitions

    def _follow(self, state: int, word: int) -> int:
        return (state * len(self.words) + word) % len(self.next_word)

    def _state_words(self, state: int) -> Iterator[int]:
        for power in reversed(range(self.order)):
            yield state // len(self.words) ** power % len(self.words)

    def _conditional_entropy(self, rows: np.ndarray) -> float:
        logs = np.log2(rows, out=np.zeros_like(rows), where=rows > 0)
        return float(-(self.stationary[:, None] * rows * logs).sum())


def _invert(cumulative: np.ndarray, draw: float) -> int:
    # Rounding can leave the last entry just below one.
    return min(int(cumulative.searchsorted(draw, side="right")), len(cumulative) - 1)

"""What every check of labelled data declares, what it is given, and the registry of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from greffe.config.options import Reading
from greffe.data.duplicates import Duplicates, find_duplicates
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.data.words import excerpt, normalize
from greffe.doctor.finding import Finding, PartName

Need = Literal["tokenizer", "context", "corpus", "predictions"]


@dataclass(frozen=True, kw_only=True)
class LabelledData:
    """Labelled texts and what is known about them."""

    parts: Mapping[PartName, Sequence[Example]]
    """The parts that have texts: train, valid, test, in this order."""
    tokenizer: Tokenizer | None = None
    context: int | None = None
    """Tokens that a model reads at once."""
    corpus: Sequence[str | Path] = ()
    """Pretraining text."""
    reading: Reading = field(default_factory=Reading)
    """How the corpus is read."""
    predictions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The labels that models gave the test texts, by the model's name."""

    @property
    def first(self) -> tuple[PartName, Sequence[Example]]:
        """The part that a model learns from."""
        return next(iter(self.parts.items()))

    @property
    def last(self) -> tuple[PartName, Sequence[Example]]:
        """The part that a model is tested on."""
        return list(self.parts.items())[-1]

    @cached_property
    def copies(self) -> Copies:
        """Which texts are copies of each other."""
        return Copies(self.parts)


class Copies:
    """Which texts of all parts are the same or nearly the same; empty ones are left out."""

    def __init__(self, parts: Mapping[PartName, Sequence[Example]]) -> None:
        self.examples = [
            (name, example)
            for name, examples in parts.items()
            for example in examples
            if normalize(example.text)
        ]
        self.total = {name: len(examples) for name, examples in parts.items()}
        self.found: Duplicates = find_duplicates([example.text for _, example in self.examples])

    def indices(self, part: PartName) -> list[int]:
        """Return the positions of a part's texts."""
        return [index for index, (name, _) in enumerate(self.examples) if name == part]

    def text(self, index: int) -> str:
        """Return the text at a position."""
        return self.examples[index][1].text


Find = Callable[[LabelledData], Iterator[Finding]]


@dataclass(frozen=True)
class Check:
    """One check; its findings are described by the catalog entries of their kinds."""

    title: str
    """What is checked, for a list of checks."""
    order: int
    """Position among the checks; lower comes first."""
    kinds: tuple[str, ...]
    """The kinds of findings that it can make."""
    needs: tuple[Need, ...]
    """What must be given in addition to labelled texts."""
    find: Find

    def applies(self, data: LabelledData) -> bool:
        """Return whether everything that it needs is given."""
        return all(getattr(data, need) for need in self.needs)


CHECKS: dict[str, Check] = {}
"""Every check by the name of its function; importing `greffe.doctor.checks` fills it."""


def register(
    title: str, *, order: int, kinds: tuple[str, ...], needs: tuple[Need, ...] = ()
) -> Callable[[Find], Find]:
    """Add a function to the registry."""

    def add(find: Find) -> Find:
        CHECKS[find.__name__] = Check(title, order, kinds, needs, find)
        return find

    return add


def text_of_class(examples: Sequence[Example], label: str) -> str:
    """Return the beginning of the first text of a class."""
    return excerpt(next(example.text for example in examples if example.label == label))

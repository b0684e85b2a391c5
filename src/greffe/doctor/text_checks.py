"""Checks of texts: copies within and across parts, contradictions, length, letters, the corpus.

Each gives findings or none. Knows no model.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from greffe.config.options import Reading
from greffe.data.duplicates import Duplicates, find_duplicates
from greffe.data.overlap import NGRAM_WORDS, corpus_overlap
from greffe.data.pieces import apply_character_steps
from greffe.data.scripts import known_characters, unknown_letters
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.data.words import excerpt, normalize
from greffe.doctor.finding import Finding, PartName

Parts = Mapping[PartName, Sequence[Example]]

UNKNOWN_LETTERS = 0.2  # share of a text's letters that makes it one in an unknown script
MANY_UNKNOWN = 0.01  # share of such texts that is more than a note
MUCH_CUT = 0.05  # share of tokens beyond the context that is more than a note
MUCH_OVERLAP = 0.01  # share of test texts known from the corpus that is serious
LONGEST_WORD = 30  # characters: scripts without spaces write whole sentences as one


class Copies:
    """Which texts of all parts are the same or nearly; empty ones are left out."""

    def __init__(self, parts: Parts) -> None:
        self._examples = [
            (name, example)
            for name, examples in parts.items()
            for example in examples
            if normalize(example.text)
        ]
        self._total = {name: len(examples) for name, examples in parts.items()}
        self._copies: Duplicates = find_duplicates([e.text for _, e in self._examples])

    def within(self, part: PartName) -> Iterator[Finding]:
        """Texts that repeat one of the same part."""
        exact: set[int] = set()
        groups: set[int] = set()
        again: list[str] = []
        nearly: list[str] = []
        for place in self._places(part):
            number, group = self._copies.exact[place], self._copies.groups[place]
            if number in exact:
                again.append(self._text(place))
            elif group in groups:
                nearly.append(self._text(place))
            exact.add(number)
            groups.add(group)
        for kind, texts in (("duplicates", again), ("near_duplicates", nearly)):
            if texts:
                yield Finding(
                    kind=kind,
                    severity="note",
                    count=len(texts),
                    total=self._total[part],
                    where=part,
                    example=excerpt(texts[0]),
                )

    def across(self, first: PartName, last: PartName) -> Iterator[Finding]:
        """Texts of the last part that stand in the first."""
        exact = {self._copies.exact[place] for place in self._places(first)}
        place_of = {self._copies.groups[place]: place for place in self._places(first)}
        equal: list[str] = []
        near: list[tuple[str, str]] = []
        for place in self._places(last):
            if self._copies.exact[place] in exact:
                equal.append(self._text(place))
            elif (other := place_of.get(self._copies.groups[place])) is not None:
                near.append((self._text(place), self._text(other)))
        where = f"{first} and {last}"
        if equal:
            yield Finding(
                kind="leak",
                severity="serious",
                count=len(equal),
                total=self._total[last],
                where=where,
                example=excerpt(equal[0]),
            )
        if near:
            yield Finding(
                kind="near_leak",
                severity="serious",
                count=len(near),
                total=self._total[last],
                where=where,
                example=_pair(*near[0]),
            )

    def contradictions(self) -> Iterator[Finding]:
        """Equal texts with different labels."""
        places: defaultdict[int, list[int]] = defaultdict(list)
        for place, number in enumerate(self._copies.exact):
            places[number].append(place)
        labels = {
            number: sorted({self._examples[place][1].label for place in members})
            for number, members in places.items()
        }
        torn = [number for number in places if len(labels[number]) > 1]
        if torn:
            rows = [place for number in torn for place in places[number]]
            found = {self._examples[place][0] for place in rows}
            shown = places[torn[0]][0]
            yield Finding(
                kind="contradiction",
                severity="warning",
                count=len(rows),
                total=sum(self._total.values()),
                where=" and ".join(name for name in self._total if name in found),
                example=excerpt(f"{' / '.join(labels[torn[0]])}: {self._text(shown)}"),
                detail={"texts": len(torn)},
            )

    def _places(self, part: PartName) -> list[int]:
        return [place for place, (name, _) in enumerate(self._examples) if name == part]

    def _text(self, place: int) -> str:
        return self._examples[place][1].text


def check_copies(parts: Parts) -> Iterator[Finding]:
    """Leaks, contradictions and copies."""
    copies = Copies(parts)
    for first, last in combinations(parts, 2):
        yield from copies.across(first, last)
    yield from copies.contradictions()
    for part in parts:
        yield from copies.within(part)


def check_short(examples: Sequence[Example], where: PartName) -> Iterator[Finding]:
    """Texts that are empty or a single word."""
    plain = [normalize(example.text) for example in examples]
    empty = sum(not text for text in plain)
    short = [
        example.text
        for example, text in zip(examples, plain, strict=True)
        if " " not in text and len(text) <= LONGEST_WORD
    ]
    if short:
        yield Finding(
            kind="short_texts",
            severity="note",
            count=len(short),
            total=len(examples),
            where=where,
            example=excerpt(max(short, key=len)),
            detail={"empty": empty},
        )


def check_length(
    examples: Sequence[Example], where: PartName, tokenizer: Tokenizer, context: int
) -> Iterator[Finding]:
    """Texts longer than the context, which holds <sos> and <eos> as well."""
    lengths = [len(ids) for ids in tokenizer.encode_batch([example.text for example in examples])]
    beyond = [max(0, length - (context - 2)) for length in lengths]
    if any(beyond):
        cut = sum(beyond) / sum(lengths)
        longest = max(range(len(lengths)), key=lengths.__getitem__)
        yield Finding(
            kind="long_texts",
            severity="warning" if cut > MUCH_CUT else "note",
            count=sum(length > 0 for length in beyond),
            total=len(examples),
            where=where,
            example=excerpt(examples[longest].text),
            detail={"context": context, "cut": cut, "longest": lengths[longest]},
        )


def check_letters(
    examples: Sequence[Example], where: PartName, tokenizer: Tokenizer
) -> Iterator[Finding]:
    """Texts in letters that the vocabulary has not."""
    known = known_characters(tokenizer)
    scripts: Counter[str] = Counter()
    foreign: list[str] = []
    for example in examples:
        letters, unknown = unknown_letters(
            apply_character_steps(example.text, tokenizer.character_steps), known
        )
        if unknown.total() > UNKNOWN_LETTERS * letters:
            scripts += unknown
            foreign.append(example.text)
    if foreign:
        yield Finding(
            kind="unknown_script",
            severity="warning" if len(foreign) > MANY_UNKNOWN * len(examples) else "note",
            count=len(foreign),
            total=len(examples),
            where=where,
            example=excerpt(foreign[0]),
            detail={"scripts": ", ".join(script for script, _ in scripts.most_common(3))},
        )


def check_overlap(
    examples: Sequence[Example],
    where: PartName,
    corpus: Sequence[str | Path],
    options: Reading,
) -> Iterator[Finding]:
    """Texts that the pretraining corpus holds in part."""
    overlap = corpus_overlap([example.text for example in examples], corpus, options)
    if overlap.example is None:
        return
    texts = overlap.texts
    words = sum(overlap.words[text] for text in texts)
    yield Finding(
        kind="corpus_overlap",
        severity="serious" if len(texts) > MUCH_OVERLAP * len(examples) else "warning",
        count=len(texts),
        total=len(examples),
        where=where,
        example=excerpt(overlap.example.words),
        detail={
            "run": NGRAM_WORDS,
            "covered": sum(overlap.covered) / words,
            "source": Path(overlap.example.source).name,
        },
    )


def _pair(first: str, second: str) -> str:
    half = (160 - len(" ≈ ")) // 2
    return f"{excerpt(first, half)} ≈ {excerpt(second, half)}"

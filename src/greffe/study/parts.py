"""The labelled data of a study: three parts that share no text, and subsets of few labels.

Knows nothing of models. What stands in the test part and in another one too is marked, not removed:
the figures are given with and without it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from greffe.data.duplicates import duplicate_groups
from greffe.data.tables import Example, label_order, split_examples
from greffe.errors import DataError
from greffe.seeding import derive

TEST_SHARE = 0.2
VALIDATION_SHARE = 0.2


@dataclass(frozen=True)
class Parts:
    """Training, validation and test texts."""

    train: list[Example]
    valid: list[Example]
    test: list[Example]
    labels: list[str]
    is_repeated: list[bool]
    """For each test text: whether it stands, word for word or nearly, in another part."""
    is_split: dict[str, bool]
    """For each part: whether it was split off here."""

    @property
    def labelled(self) -> int:
        """Texts that there are to learn from."""
        return len(self.train)


def part_data(
    data: Sequence[Example],
    valid: Sequence[Example] | None,
    test: Sequence[Example] | None,
    seed: int,
) -> Parts:
    """The parts as given; a missing one is split off by class, with like texts on one side."""
    label_order(example.label for example in data)  # one class: an error before any split
    train = list(data)
    if test is None:
        train, held = _split(train, TEST_SHARE, seed, "test")
    else:
        held = list(test)
    if valid is None:
        train, chosen_on = _split(train, VALIDATION_SHARE, seed, "valid")
    else:
        chosen_on = list(valid)
    labels = label_order(example.label for example in train)
    for name, part in (("valid", chosen_on), ("test", held)):
        unknown = sorted({example.label for example in part} - set(labels))
        if unknown:
            raise DataError(
                f"The {name} part has labels that the training part has not.",
                expected=f"only {', '.join(labels[:20])}",
                found=", ".join(unknown[:20]),
            )
    return Parts(
        train=train,
        valid=chosen_on,
        test=held,
        labels=labels,
        is_repeated=_repeated([*train, *chosen_on], held),
        is_split={"train": False, "valid": valid is None, "test": test is None},
    )


def few_labels(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    """`count` of the examples, classes in proportion and each at least once, in their order.

    A smaller count gives a subset of a larger one: curves over labels are paired in this way too.
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, example in enumerate(examples):
        places[example.label].append(place)
    rank: dict[int, tuple[float, int]] = {}
    for members in places.values():
        drawn = sorted(members, key=lambda place: derive(seed, "labels", place))
        for number, place in enumerate(drawn):
            rank[place] = (number / len(members), derive(seed, "labels", place))
    chosen = sorted(rank, key=lambda place: rank[place])[:count]
    return [examples[place] for place in sorted(chosen)]


def labelled_subset(parts: Parts, labels: int, seed: int) -> tuple[list[Example], list[Example]]:
    """So many training texts, and validation texts in proportion.

    All of a large validation part would be a second pot of labels: whoever has few has few of both.
    """
    if labels >= parts.labelled:
        return parts.train, parts.valid
    choosing = max(round(labels * len(parts.valid) / len(parts.train)), len(parts.labels))
    return few_labels(parts.train, labels, seed), few_labels(parts.valid, choosing, seed)


def check_label_counts(counts: Sequence[int], parts: Parts) -> None:
    """Each number of labels must be one that can be drawn."""
    fewest = 2 * len(parts.labels)
    wrong = [count for count in counts if not fewest <= count <= parts.labelled]
    if wrong:
        raise DataError(
            f"{', '.join(map(str, wrong))} labels cannot be drawn.",
            expected=f"from {fewest} (two a class) to {parts.labelled} (all training texts)",
            hint="for example --labels 50,100,all",
        )


def by_label(examples: Sequence[Example], labels: Sequence[str]) -> dict[str, int]:
    """How many examples each class has."""
    counts = Counter(example.label for example in examples)
    return {label: counts[label] for label in labels}


def _split(
    examples: list[Example], share: float, seed: int, name: str
) -> tuple[list[Example], list[Example]]:
    groups = duplicate_groups([example.text for example in examples])
    kept, held = split_examples(examples, share, derive(seed, "part", name), groups=groups)
    if not held or not kept:
        raise DataError(
            f"There are too few labelled texts to split off a {name} part.",
            expected=f"several different texts a class, or --{name} FILE",
            found=f"{len(examples)} texts",
        )
    return kept, held


def _repeated(others: Sequence[Example], test: Sequence[Example]) -> list[bool]:
    groups = duplicate_groups([example.text for example in (*others, *test)])
    elsewhere = set(groups[: len(others)])
    return [group in elsewhere for group in groups[len(others) :]]

"""The labelled data of a study: three parts that share no text, and subsets of few labels.

Test texts that also occur in another part are marked, not removed: figures are given with and
without them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from greffe.data.duplicates import duplicate_groups
from greffe.data.tables import Example, label_order, split_examples
from greffe.doctor.finding import PartName
from greffe.errors import DataError
from greffe.pipelines.labelled import check_classes
from greffe.seeding import derive

TEST_FRACTION = 0.2
VALIDATION_FRACTION = 0.2


@dataclass(frozen=True)
class Parts:
    """Training, validation and test texts."""

    train: list[Example]
    valid: list[Example]
    test: list[Example]
    labels: list[str]
    is_repeated: list[bool]
    """For each test text: whether it also occurs in another part, exactly or nearly."""
    is_split: dict[str, bool]
    """For each part: whether it was split off the training texts."""

    @property
    def labelled(self) -> int:
        """The number of training texts."""
        return len(self.train)

    @property
    def by_name(self) -> dict[PartName, list[Example]]:
        """The three parts by their names."""
        return {"train": self.train, "valid": self.valid, "test": self.test}


def part_data(
    data: Sequence[Example],
    valid: Sequence[Example] | None,
    test: Sequence[Example] | None,
    seed: int,
) -> Parts:
    """Return the parts; a missing one is split off by class, with similar texts kept together."""
    label_order(example.label for example in data)  # one class: an error before any split
    train = list(data)
    if test is None:
        train, held = _split(train, TEST_FRACTION, seed, "test")
    else:
        held = list(test)
    if valid is None:
        train, chosen_on = _split(train, VALIDATION_FRACTION, seed, "valid")
    else:
        chosen_on = list(valid)
    labels = label_order(example.label for example in train)
    for name, part in (("valid", chosen_on), ("test", held)):
        unknown = sorted({example.label for example in part} - set(labels))
        if unknown:
            raise DataError(
                f"The {name} part has labels that are missing from the training part.",
                expected=f"only {', '.join(labels[:20])}",
                found=", ".join(unknown[:20]),
            )
    check_classes(labels, train)
    return Parts(
        train=train,
        valid=chosen_on,
        test=held,
        labels=labels,
        is_repeated=_repeated([*train, *chosen_on], held),
        is_split={"train": False, "valid": valid is None, "test": test is None},
    )


def few_labels(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    """Return `count` of the examples in their order, classes in proportion and each at least once.

    A smaller count gives a subset of a larger one, so that curves over labels are paired.
    """
    indices: defaultdict[str, list[int]] = defaultdict(list)
    for index, example in enumerate(examples):
        indices[example.label].append(index)
    rank: dict[int, tuple[float, int]] = {}
    for members in indices.values():
        drawn = sorted(members, key=lambda index: derive(seed, "labels", index))
        for number, index in enumerate(drawn):
            rank[index] = (number / len(members), derive(seed, "labels", index))
    chosen = sorted(rank, key=lambda index: rank[index])[:count]
    return [examples[index] for index in sorted(chosen)]


def labelled_subset(parts: Parts, labels: int, seed: int) -> tuple[list[Example], list[Example]]:
    """Return `labels` training texts, and validation texts in proportion.

    Validation texts are labels too: someone who has few labels has few of both.
    """
    if labels >= parts.labelled:
        return parts.train, parts.valid
    choosing = max(round(labels * len(parts.valid) / len(parts.train)), len(parts.labels))
    return few_labels(parts.train, labels, seed), few_labels(parts.valid, choosing, seed)


def check_measurable(parts: Parts) -> None:
    """Raise an error if no test text is new: accuracies would say nothing about new texts."""
    if all(parts.is_repeated):
        raise DataError(
            "Every test text also occurs in training or validation: nothing can be measured.",
            expected="test texts that occur in no other part",
            found=f"{len(parts.test)} texts, all of them repeated",
            hint="without --test, greffe compare splits off a part that shares no text",
        )


def check_label_counts(counts: Sequence[int], parts: Parts) -> None:
    """Check that so many labels can be drawn."""
    fewest = 2 * len(parts.labels)
    wrong = [count for count in counts if not fewest <= count <= parts.labelled]
    if wrong:
        raise DataError(
            f"{', '.join(map(str, wrong))} labels cannot be drawn.",
            expected=f"from {fewest} (two per class) to {parts.labelled} (all training texts)",
            hint="for example --labels 50,100,all",
        )


def _split(
    examples: list[Example], fraction: float, seed: int, name: str
) -> tuple[list[Example], list[Example]]:
    groups = duplicate_groups([example.text for example in examples])
    kept, held = split_examples(examples, fraction, derive(seed, "part", name), groups=groups)
    if not held or not kept:
        raise DataError(
            f"There are too few labelled texts to split off a {name} part.",
            expected=f"several different texts per class, or --{name} FILE",
            found=f"{len(examples)} texts",
        )
    return kept, held


def _repeated(others: Sequence[Example], test: Sequence[Example]) -> list[bool]:
    groups = duplicate_groups([example.text for example in (*others, *test)])
    elsewhere = set(groups[: len(others)])
    return [group in elsewhere for group in groups[len(others) :]]

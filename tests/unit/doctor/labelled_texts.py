"""Labelled texts for the checks."""

from __future__ import annotations

from greffe.data.tables import Example

LONG = (
    "Ce roman raconte la vie d'une famille de pêcheurs bretons pendant la guerre, et chaque "
    "chapitre suit un autre de ses membres jusqu'au retour du fils perdu."
)


def different(start, count, label="a"):
    """Return texts that have little in common."""
    return [
        Example(" ".join(f"mot{(number * 37 + word) * 11 % 9973}" for word in range(12)), label)
        for number in range(start, start + count)
    ]


def of_classes(counts):
    """Return so many texts of each class."""
    return [
        Example(f"{label} {number}", label)
        for label, count in counts.items()
        for number in range(count)
    ]

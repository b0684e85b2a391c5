"""Other people's labelled texts, read and checked before they are learnt from beside one's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from greffe.data.tables import Example
from greffe.data.text import ReadOptions
from greffe.data.words import normalise
from greffe.errors import DataError
from greffe.linear.companions import Companions
from greffe.progress import notice
from greffe.stages.labelled import Examples, data_hash, load_examples


@dataclass(frozen=True)
class OpenCompanions:
    """Tables of others, if there are any, without copies of texts that are known."""

    tables: list[list[Example]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    @property
    def texts(self) -> int:
        """How many these are."""
        return sum(map(len, self.tables))

    @cached_property
    def companions(self) -> Companions | None:
        """What a linear model learns from beside one's own."""
        return Companions.of(self.tables, self.labels) if self.tables else None

    @cached_property
    def hashes(self) -> dict[str, str]:
        """The hash of each table, for a lineage."""
        return {f"also {number}": data_hash(table) for number, table in enumerate(self.tables, 1)}


def open_companions(
    tables: Sequence[Examples], labels: list[str], options: ReadOptions, known: Iterable[Example]
) -> OpenCompanions:
    """All tables, without copies of texts that are known: trained on, or tested on."""
    texts = {normalise(example.text) for example in known} if tables else set()
    return OpenCompanions([_load(table, labels, options, texts) for table in tables], labels)


def _load(
    table: Examples, labels: list[str], options: ReadOptions, known: set[str]
) -> list[Example]:
    """Texts of others, which must have labels of one's own; copies of known ones are left out."""
    name = table if isinstance(table, str | Path) else "also"
    examples = load_examples(table, options)
    unknown = sorted({example.label for example in examples} - set(labels))
    if unknown:
        raise DataError(
            f"{name} has labels of its own.",
            expected=f"labels of the training texts: {', '.join(labels)}",
            found=", ".join(unknown[:5]),
            hint="greffe stack --data on it alone makes a teacher of it: then --teacher RUN",
        )
    # Cross-validation learns from all of them: a copy would tell the answer.
    others = [example for example in examples if normalise(example.text) not in known]
    if not others:
        raise DataError(
            f"{name} holds nothing but one's own texts.",
            expected="labelled texts of others",
            found=f"{len(examples):,} texts, all of them known already",
            hint="leave it out",
        )
    if len(others) < len(examples):
        notice(f"{name}: {len(examples) - len(others):,} texts are one's own too and are left out")
    return others

"""Other people's labelled texts, read and checked before they are learnt from beside one's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from greffe.baselines.auxiliary_fit import AuxiliaryData
from greffe.config.options import Reading
from greffe.data.tables import Example
from greffe.data.words import normalize
from greffe.errors import DataError
from greffe.pipelines.labelled import Examples, data_hash, load_examples
from greffe.progress import notice


@dataclass(frozen=True)
class AuxiliaryTables:
    """Tables of others, if there are any, without copies of texts that are known."""

    tables: list[list[Example]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)
    """The hash of each table as it was given, for a lineage."""

    @property
    def texts(self) -> int:
        """How many these are."""
        return sum(map(len, self.tables))

    @cached_property
    def auxiliary(self) -> AuxiliaryData | None:
        """What a linear model learns from beside one's own."""
        return AuxiliaryData.of(self.tables, self.labels) if self.tables else None


def open_auxiliary(
    tables: Sequence[Examples], labels: list[str], options: Reading, known: Iterable[Example]
) -> AuxiliaryTables:
    """All tables, without copies of texts that are known: trained on, or tested on."""
    texts = {normalize(example.text) for example in known} if tables else set()
    names = [f"also {number}" for number in range(1, len(tables) + 1)]
    called = [
        str(table) if isinstance(table, str | Path) else name
        for name, table in zip(names, tables, strict=True)
    ]
    loaded = [load_examples(table, options) for table in tables]
    for name, table in zip(called, loaded, strict=True):
        _check_labels(name, table, labels)
    hashes = {name: data_hash(table) for name, table in zip(names, loaded, strict=True)}
    others = [_others(name, table, texts) for name, table in zip(called, loaded, strict=True)]
    return AuxiliaryTables(others, labels, hashes)


def _check_labels(name: str, examples: Sequence[Example], labels: list[str]) -> None:
    """Texts of others must have labels of one's own."""
    unknown = sorted({example.label for example in examples} - set(labels))
    if unknown:
        raise DataError(
            f"{name} has labels of its own.",
            expected=f"labels of the training texts: {', '.join(labels)}",
            found=", ".join(unknown[:5]),
            hint="greffe linear --data on it alone makes a teacher of it: then greffe linear "
            "--features-from RUN",
        )


def _others(name: str, examples: Sequence[Example], known: set[str]) -> list[Example]:
    """All but copies of what is known: where that is tested on, a copy would tell the answer."""
    others = [example for example in examples if normalize(example.text) not in known]
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

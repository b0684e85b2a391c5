"""Auxiliary data: labelled texts from elsewhere, read and checked before they are trained on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from greffe.baselines.auxiliary_data import AuxiliaryData
from greffe.config.options import Reading
from greffe.data.tables import Example
from greffe.data.words import normalize
from greffe.errors import DataError
from greffe.pipelines.labelled import Examples, data_hash, load_examples
from greffe.progress import notice


@dataclass(frozen=True)
class AuxiliaryTables:
    """Auxiliary tables, without copies of known texts; empty by default."""

    tables: list[list[Example]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)
    """Hash of each table as it was given, for a lineage."""

    @property
    def texts(self) -> int:
        """Number of texts in all tables."""
        return sum(map(len, self.tables))

    @cached_property
    def auxiliary(self) -> AuxiliaryData | None:
        """The tables as a linear model takes them; None without tables."""
        return AuxiliaryData.of(self.tables, self.labels) if self.tables else None


def open_auxiliary(
    tables: Sequence[Examples], labels: list[str], options: Reading, known: Iterable[Example]
) -> AuxiliaryTables:
    """Read and check all tables; leave out copies of known texts (training and test texts)."""
    texts = {normalize(example.text) for example in known} if tables else set()
    names = [f"auxiliary {number}" for number in range(1, len(tables) + 1)]
    shown = [
        str(table) if isinstance(table, str | Path) else name
        for name, table in zip(names, tables, strict=True)
    ]
    loaded = [load_examples(table, options) for table in tables]
    for name, table in zip(shown, loaded, strict=True):
        _check_labels(name, table, labels)
    hashes = {name: data_hash(table) for name, table in zip(names, loaded, strict=True)}
    new = [_without_known(name, table, texts) for name, table in zip(shown, loaded, strict=True)]
    return AuxiliaryTables(new, labels, hashes)


def _check_labels(name: str, examples: Sequence[Example], labels: list[str]) -> None:
    """Raise an error if a table has labels that the training texts lack."""
    unknown = sorted({example.label for example in examples} - set(labels))
    if unknown:
        raise DataError(
            f"{name} has other labels than the training texts.",
            expected=f"labels of the training texts: {', '.join(labels)}",
            found=", ".join(unknown[:5]),
            hint="train a run on it with greffe linear, then use greffe linear --features-from RUN",
        )


def _without_known(name: str, examples: Sequence[Example], known: set[str]) -> list[Example]:
    """Leave out copies of known texts: a copy of a test text would give its label away."""
    new = [example for example in examples if normalize(example.text) not in known]
    if not new:
        raise DataError(
            f"{name} contains only texts that are in your data already.",
            expected="labelled texts from elsewhere",
            found=f"{len(examples):,} texts, all of them known",
            hint="leave it out",
        )
    if len(new) < len(examples):
        notice(f"{name}: {len(examples) - len(new):,} texts are in your data too and are left out")
    return new

"""What happened: counts of each case, added up, and the table at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

Count = Literal[
    "aimed", "SIGKILL", "SIGTERM", "SIGINT", "memory", "fresh", "resumed", "writes", "full disks",
    "refusals", "reads", "identical",
    "mismatches", "tracebacks", "leftovers", "unexplained", "hangs", "lost inputs", "failed reads",
]  # fmt: skip
FAULTS: tuple[Count, ...] = (
    *("mismatches", "tracebacks", "leftovers", "unexplained", "hangs"),
    *("lost inputs", "failed reads"),
)
KILLS: tuple[Count, ...] = ("aimed", "SIGKILL", "SIGTERM", "SIGINT", "memory")
COLUMNS: tuple[tuple[str, Sequence[Count]], ...] = (
    ("cases", ()),
    ("kill at a write", ("aimed",)),
    *((name, (name,)) for name in KILLS[1:]),
    ("all kills", KILLS),
    ("fresh", ("fresh",)),
    ("resumed", ("resumed",)),
    ("failing writes", ("writes",)),
    ("full disks", ("full disks",)),
    ("refused", ("refusals",)),
    ("reads", ("reads",)),
    ("identical", ("identical",)),
    *((name, (name,)) for name in FAULTS),
)


@dataclass(frozen=True)
class Case:
    """A verb, the scene, what happens there, and a number: of a point or of a random draw."""

    verb: str
    scene: str
    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.verb}:{self.scene}:{self.kind}:{self.number}"

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the case of this name."""
        verb, scene, kind, number = name.split(":")
        return cls(verb, scene, kind, int(number))


@dataclass
class Tally:
    """The counts of one case, and what was wrong."""

    case: Case
    counts: Counter[Count] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def blame(self, fault: Count, what: str) -> None:
        """Note something that must not happen."""
        self.counts[fault] += 1
        self.problems.append(f"{fault}: {what}")


def table(tallies: Iterable[Tally]) -> str:
    """Return a column for each verb, a line for each count; of zeros only those of faults."""
    by_verb: dict[str, list[Tally]] = {}
    for tally in sorted(tallies, key=lambda tally: tally.case.verb):
        by_verb.setdefault(tally.case.verb, []).append(tally)
    by_verb["all"] = [tally for group in by_verb.values() for tally in group]
    rows = [["", *by_verb]]
    for title, counts in COLUMNS:
        values = [
            sum(sum(tally.counts[count] for count in counts) if counts else 1 for tally in group)
            for group in by_verb.values()
        ]
        if any(values) or title in FAULTS:
            rows.append([title, *map(str, values)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def summary(tallies: Sequence[Tally]) -> str:
    """Return the most important counts in one line."""
    total: Counter[Count] = sum((tally.counts for tally in tallies), Counter())
    kills, faults = (sum(total[count] for count in counts) for counts in (KILLS, FAULTS))
    return (
        f"torture: {len(tallies):,} cases, {kills:,} kills, {total['writes']:,} failing writes, "
        f"{total['reads']:,} reads, {total['identical']:,} identical results, {faults:,} faults"
    )

"""The results as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.cases import Case
from benchmarks.timing import Goal, Results

Found = Mapping[Case, Results]


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Align rows in columns with an underlined header; `right` columns are right-aligned."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("─" * width for width in widths))
    return "\n".join(lines)


def figure(value: float) -> str:
    """Format three significant digits: `0.412`, `13.7`, `2,104`."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:#.3g}"


def times(value: float) -> str:
    """Format a ratio: `2.04×`."""
    return f"{value:.2f}×" if value < 100 else f"{value:.0f}×"


def contenders_table(found: Found) -> str:
    """Return one line per contender; the ratio says how many times better greffe is."""
    rows = [("case", "contender", "median", "", "lowest – highest", "greffe is", "of the peak")]
    for case, results in found.items():
        ours = case.best(results.samples)
        for index, name in enumerate(results.samples):
            low, high = results.spread(name)
            fraction = results.peak_fraction(name)
            ratio = "" if name == ours else times(results.ratio(ours, name))
            rows.append(
                (
                    case.name if index == 0 else "",
                    name,
                    figure(results.value(name)),
                    results.unit,
                    f"{figure(low)} – {figure(high)}",
                    ratio,
                    "" if fraction is None else f"{fraction:.0%}",
                )
            )
    return aligned(rows, right=(2, 5, 6))


def goals_table(found: Found) -> str:
    """Return the goals with the measured values."""
    rows = [("case", "goal", "target", "measured", "")]
    for case, results in found.items():
        ours = case.best(results.samples)
        for goal in case.goals_among(results.samples):
            rows.append(
                (
                    case.name,
                    goal.what,
                    target_text(goal, results),
                    goal_text(goal, results.measured(goal, ours)),
                    "reached" if results.reaches(goal, ours) else "not reached",
                )
            )
    return aligned(rows, right=(2, 3))


def target_text(goal: Goal, results: Results) -> str:
    """Format a target: `≥ 2.00×`, `≥ 75%`, `< 0.500`."""
    is_limit = goal.measure == "value" and results.less_is_better
    return f"{'<' if is_limit else '≥'} {goal_text(goal, goal.target)}"


def goal_text(goal: Goal, value: float) -> str:
    """Format a value as its goal is measured."""
    match goal.measure:
        case "ratio":
            return times(value)
        case "peak":
            return f"{value:.0%}"
        case "value":
            return figure(value)


def as_json(machine: Mapping[str, str], settings: Mapping[str, object], found: Found) -> str:
    """Return everything as JSON, including every round."""
    tree = {
        "machine": dict(machine),
        "settings": dict(settings),
        "cases": {case.name: _case_tree(case, results) for case, results in found.items()},
    }
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"


def _case_tree(case: Case, results: Results) -> dict[str, object]:
    ours = case.best(results.samples)
    return {
        "title": case.title,
        "unit": results.unit,
        "less_is_better": results.less_is_better,
        "ours": ours,
        "contenders": {
            name: {
                "median": results.value(name),
                "fraction_of_peak": results.peak_fraction(name),
                "ratio_of_ours": results.ratio(ours, name),
                "rounds": [asdict(sample) for sample in samples],
            }
            for name, samples in results.samples.items()
        },
        "goals": [
            {
                "what": goal.what,
                "target": goal.target,
                "measured": results.measured(goal, ours),
                "reached": results.reaches(goal, ours),
            }
            for goal in case.goals_among(results.samples)
        ],
    }


def write(path: Path, text: str) -> None:
    """Write a file atomically."""
    from greffe.storage import write_atomic

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text.encode())

"""Draw the results as one chart: one panel per case, one bar per contender."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.cases import Case
from benchmarks.report import Found, figure, goal_text, target_text, times
from benchmarks.timing import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS = "#1b7f5c"
OTHERS = "#c3c9cf"
MISSED = "#b4552d"
INK = "#22272c"
FAINT = "#6b7480"
COLUMNS = 2
WIDTH = 12.5  # inches, as all sizes here
BAR = 0.32
PANEL_TITLE = 0.75
TOP, BOTTOM = 0.5, 0.65
NAMES = 2.05  # left of a panel's bars
ROOM_RIGHT = 1.9  # of the longest bar: room for the text behind it
LONGEST = 8  # times ours: longer bars are broken, so that the others stay readable


def draw(found: Found, machine: Mapping[str, str], rounds: int, path: Path) -> None:
    """Write the chart, if there is anything to compare."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = {case: results for case, results in found.items() if len(results.samples) > 1}
    if not shown:
        return
    most_bars = max(len(results.samples) for results in shown.values())
    lines = len(shown) // COLUMNS + 1  # one panel is for the goals
    panel = PANEL_TITLE + BAR * most_bars
    height = TOP + panel * lines + BOTTOM
    chart = pyplot.figure(figsize=(WIDTH, height), facecolor="white")

    def panel_at(number: int) -> Axes:
        line, column = divmod(number, COLUMNS)
        left = (NAMES + column * WIDTH / COLUMNS) / WIDTH
        top = height - TOP - line * panel - PANEL_TITLE
        wide = WIDTH / COLUMNS - NAMES - 0.1
        bottom = top - BAR * most_bars
        return chart.add_axes((left, bottom / height, wide / WIDTH, BAR * most_bars / height))

    for number, (case, results) in enumerate(shown.items()):
        _draw_bars(panel_at(number), case, results, most_bars)
    _write_goals(panel_at(len(shown)), found)
    chart.text(
        0.2 / WIDTH,
        1 - 0.2 / height,
        "greffe compared with common alternatives",
        va="top",
        fontsize=15,
        fontweight="bold",
        color=INK,
    )
    note = (
        f"{machine['processor']}, {machine['threads']} threads, torch {machine['torch']}, "
        f"BLAS {machine['blas']}\n"
        f"Medians of {rounds} interleaved rounds. ×: how many times better greffe is. "
        "Peak: products of large matrices in the same precision (int8: bf16), around each round."
    )
    chart.text(0.2 / WIDTH, 0.15 / height, note, fontsize=8, color=FAINT, va="bottom")
    path.parent.mkdir(parents=True, exist_ok=True)
    chart.savefig(path, dpi=150)
    pyplot.close(chart)


def _draw_bars(axes: Axes, case: Case, results: Results, most_bars: int) -> None:
    ours = case.best(results.samples)
    names = sorted(results.samples, key=lambda name: (name != ours, name != case.ours))
    values = [results.value(name) for name in names]
    limit = LONGEST * results.value(ours)
    drawn = [min(value, limit) for value in values]
    axes.barh(
        range(len(names)),
        drawn,
        color=[OURS if name == ours else OTHERS for name in names],
        height=0.7,
    )
    longest = max(drawn)
    for bar, name in enumerate(names):
        if values[bar] > limit:
            axes.plot(
                [0.88 * longest, 0.92 * longest], [bar + 0.45, bar - 0.45], color="white", lw=5
            )
        words = [figure(values[bar])]
        if name != ours:
            words.append(times(results.ratio(ours, name)))
        if (fraction := results.peak_fraction(name)) is not None:
            words.append(f"{fraction:.0%} of peak")
        axes.text(
            drawn[bar] + 0.02 * longest,
            bar,
            "  ·  ".join(words),
            va="center",
            fontsize=9,
            color=INK,
            fontweight="bold" if name == ours else "normal",
        )
    better = "less is better" if results.less_is_better else "more is better"
    _entitle(axes, case.title, f"{results.unit}, {better}")
    axes.set_yticks(range(len(names)), names, fontsize=9.5, color=INK)
    # The same bar thickness in all panels.
    axes.set_ylim(most_bars - 0.5, -0.5)
    axes.set_xlim(0, longest * ROOM_RIGHT)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.spines[:].set_visible(False)


def _write_goals(axes: Axes, found: Found) -> None:
    """Write each goal with its target and the measured value."""
    goals = [
        (case, results, goal)
        for case, results in found.items()
        for goal in case.goals_among(results.samples)
    ]
    axes.axis("off")
    if not goals:
        return
    _entitle(axes, "Goals of the project", "measured, and the target")
    for number, (case, results, goal) in enumerate(goals):
        height = 1 - (number + 0.5) / len(goals)
        ours = case.best(results.samples)
        is_reached = results.reaches(goal, ours)
        measured = goal_text(goal, results.measured(goal, ours))
        for x, side, text, colour in (
            (-0.03, "right", case.name, FAINT),
            (0.0, "left", goal.what, INK),
            (0.8, "right", measured, OURS if is_reached else MISSED),
            (0.98, "right", target_text(goal, results), FAINT),
        ):
            axes.text(
                x,
                height,
                text,
                transform=axes.transAxes,
                va="center",
                ha=side,
                fontsize=9,
                color=colour,
                fontweight="bold" if text == measured else "normal",
            )


def _entitle(axes: Axes, title: str, subtitle: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK, fontweight="bold", pad=19)
    axes.annotate(
        subtitle,
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, 6),
        textcoords="offset points",
        fontsize=9,
        color=FAINT,
    )

"""Tables for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from greffe.display import terminal_text

if TYPE_CHECKING:
    from greffe.evaluation.metrics import Evaluation
    from greffe.inference.fill import Filling
    from greffe.inference.labelling import LabelledRow
    from greffe.model.parameters import Account
    from greffe.run import Manifest

PIPED_WIDTH = 160
SHOWN_CHARACTERS = 60
SMALL = 0.001
"""Figures below, such as learning rates, are not written with four decimals."""
NO_LABEL = "–"


class _Terminal(Console):
    """A console for texts from anyone: their control characters are shown, not obeyed."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a title, a heading or a cell as rich prints it."""
        return super().render_str(terminal_text(text), **options)


def print_tables(tables: Iterable[Table], file: TextIO | None = None) -> None:
    """Print tables on standard output; in a pipe or a file they are wide enough not to wrap."""
    width = None if file is None and sys.stdout.isatty() else PIPED_WIDTH
    console = _Terminal(width=width, highlight=False, markup=False, emoji=False, file=file)
    for table in tables:
        console.print(table)


def new_table(title: str, *columns: str) -> Table:
    """Return a table whose first column is aligned left and the others right."""
    table = Table(title=title or None, title_justify="left", title_style="bold")
    table.box = box.SIMPLE_HEAD
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table


def account_table(account: Account, name: str) -> Table:
    """Return the parameters block by block, by formula and by count."""
    table = new_table(f"Parameters of {name}", "block", "formula", "by formula", "counted")
    for row in account.rows:
        style = "bold" if row.is_total else None
        name = row.block.replace("_", " ").replace("+", " + ")
        formula = f"{row.formula} ({row.note})" if row.note else row.formula
        table.add_row(name, formula, f"{row.closed:,}", f"{row.counted:,}", style=style)
        if row.is_total or row.block == "final_norm":
            table.add_section()
    return table


def run_tables(path: str, manifest: Manifest) -> list[Table]:
    """Return what a run is, where it came from and its results."""
    table = new_table(f"Run {path}", "", "")
    table.columns[1].justify = "left"
    lineage = manifest.lineage
    table.add_row("kind", manifest.kind)
    table.add_row("status", manifest.status)
    if manifest.labels:
        table.add_row("labels", ", ".join(manifest.labels))
    if lineage.initial_base:
        table.add_row("reads", manifest.direction or " and ".join(manifest.directions))
        parent = lineage.parent or "none, fresh weights"
        table.add_row(
            "parent",
            f"{parent}, vocabulary transfer" if lineage.vocabulary_transfer else parent,
        )
        if (imported := manifest.imported) and imported.revision:
            table.add_row("revision", imported.revision)
        table.add_row("initial base", lineage.initial_base[:12])
        table.add_row("tokenizer", f"{manifest.vocab:,} pieces, {lineage.tokenizer[:12]}")
    else:
        has_tfidf = manifest.result.get("tfidf_features", 1)
        table.add_row(
            "reads", "TF-IDF of words and characters" if has_tfidf else "its feature runs"
        )
    for name, digest in lineage.data.items():
        table.add_row(f"data: {name}", digest[:12])
    if lineage.command:
        table.add_row("command", " ".join(lineage.command))
    table.add_row("created", lineage.created)
    table.add_row("threads", str(lineage.threads))
    for name, value in manifest.result.items():
        shown = _figure(value)
        table.add_row(name.replace("_", " "), shown)
    if manifest.calibration is not None:
        table.add_row("calibration", manifest.calibration.describe())
    return [table]


def _figure(value: object) -> str:
    """Return a figure of a result as text."""
    if not isinstance(value, float):
        return f"{value}"
    return f"{value:.3g}" if 0 < abs(value) < SMALL else f"{value:,.4f}"


def evaluation_tables(evaluation: Evaluation) -> list[Table]:
    """Return scores per class, and the confusion matrix."""
    scores = new_table("By class", "label", "precision", "recall", "F1", "texts")
    for score in evaluation.per_class:
        scores.add_row(
            score.label,
            f"{score.precision:.3f}",
            f"{score.recall:.3f}",
            f"{score.f1:.3f}",
            f"{score.support:,}",
        )
    confusion = new_table("Confusion: true class ↓, predicted class →", "", *evaluation.labels)
    for label, row in zip(evaluation.labels, evaluation.confusion, strict=True):
        confusion.add_row(label, *(f"{count:,}" for count in row))
    return [scores, confusion]


def prediction_table(rows: Sequence[LabelledRow], kept: Sequence[str] = ()) -> Table:
    """Return each text with its label and probabilities, after the columns that are kept."""
    labels = list(rows[0][1].probabilities)
    table = new_table("", *kept, "label", "text", *labels)
    for column in table.columns[: len(kept) + 2]:
        column.justify = "left"
    for row, prediction in rows:
        cells = ("" if cell is None else _short(str(cell)) for cell in row.kept)
        label = NO_LABEL if prediction.abstains else prediction.label
        probabilities = (f"{value:.1%}" for value in prediction.probabilities.values())
        table.add_row(*cells, label, _short(row.text), *probabilities)
    return table


def fill_tables(gaps: Sequence[Sequence[Filling]]) -> list[Table]:
    """Return the most likely words of each mask."""
    tables = []
    for number, gap in enumerate(gaps, start=1):
        title = f"<mask> {number}" if len(gaps) > 1 else ""
        table = new_table(title, "word", "probability", "text")
        table.columns[2].justify = "left"
        for filling in gap:
            table.add_row(filling.word, f"{filling.probability:.1%}", _short(filling.text))
        tables.append(table)
    return tables


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "…"

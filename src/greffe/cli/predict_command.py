"""The verb predict: labels and probabilities of texts, printed or written to a file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from greffe.cli import flags
from greffe.cli.json_output import print_json
from greffe.cli.loading import load_classifier, loading
from greffe.config.bounds import Fraction
from greffe.config.option_groups import Without
from greffe.config.options import Labelling, Reading
from greffe.errors import InputError, InterruptedRunError

if TYPE_CHECKING:
    from greffe.inference.labelling import LabelledRow
    from greffe.inference.prediction_files import Results

Format = Literal["table", "jsonl", "csv", "parquet"]
TABLE_ROWS = 1000


@flags.expand_groups
def predict(
    run: flags.ModelPath,
    reading: Annotated[Reading, Without("documents", "label_column")],
    computing: Labelling,
    texts: Annotated[list[str] | None, typer.Argument(help="Texts to label.")] = None,
    input_: Annotated[
        str | None,
        typer.Option("--input", help="A file with one text per line, or a table; - for stdin."),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Column of the table that comes first in the output.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="One more column to pass on to the output. Repeatable."),
    ] = None,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out rows that cannot be read.")
    ] = False,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="Output format; default: table, or by the name of --out."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write to; by default the results are printed.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it exists.")
    ] = False,
    min_score: Annotated[
        float, flags.number(Fraction, help="Give no label to texts with a lower score.")
    ] = 0.0,
    calibrated: flags.Calibrated = False,
    long: flags.Long = "windows",
) -> None:
    """Print a label and probabilities for each text.

    With --out they are written to a file, which is there only when it is complete.
    """
    if texts and input_ is not None:
        raise InputError("Texts and --input are mutually exclusive.", hint="leave out one of them")
    if texts and (id_column or keep or skip_bad_rows):
        raise InputError(
            "--id-column, --keep and --skip-bad-rows are about the rows of a file.",
            expected="--input FILE with them",
            found="texts",
        )
    if not texts and input_ is None and _is_terminal(sys.stdin):
        raise InputError(
            "There is nothing to predict.",
            expected="texts, --input FILE, or text on standard input",
            hint='greffe predict RUN "Un livre magnifique."',
        )
    with loading():
        from greffe.data.text_rows import SkippedRows, TextRow, TextRows, open_text_rows
        from greffe.inference.labelling import Tally, label_rows
        from greffe.inference.prediction import describe_cut
        from greffe.inference.prediction_files import (
            Results,
            check_names,
            check_output,
            choose_format,
        )
        from greffe.progress import notice

    chosen = choose_format(format_, out)
    if out is not None:
        check_output(out, input_, overwrite=overwrite)
    classifier = load_classifier(run, computing)
    skipped = SkippedRows() if skip_bad_rows else None
    if texts:
        source = TextRows(TextRow(text) for text in texts)
    else:
        source = open_text_rows(
            *("-" if input_ is None else input_, reading),
            id_column=id_column,
            keep=keep or (),
            skipped=skipped,
        )
    check_names(chosen, source.columns, classifier.labels)
    tally = Tally()
    rows = label_rows(
        source.rows,
        lambda texts: classifier.stream_predictions(
            texts, long=long, min_score=min_score, calibrated=calibrated
        ),
        tally,
    )
    if not texts:
        rows = _with_progress(rows)
    results = Results(rows, classifier.labels, source.columns, source.types)
    try:
        _show(results, chosen) if out is None else _write(results, chosen, out)
    except KeyboardInterrupt:
        kept = "what was printed so far is complete" if out is None else f"{out} was not written"
        raise InterruptedRunError(f"Stopped; {kept}.") from None
    if tally.cut_texts:
        notice(describe_cut(tally.cut_texts, tally.cut_tokens, classifier.context))
    if tally.abstained:
        notice(tally.describe_abstentions(min_score))
    if skipped is not None:
        notice(skipped.describe())
    if not texts:
        notice(tally.describe_speed())


def _is_terminal(stdin: TextIO | None) -> bool:
    # A program may be started without standard input, or close it.
    return stdin is not None and not stdin.closed and stdin.isatty()


def _with_progress(rows: Iterator[LabelledRow]) -> Iterator[LabelledRow]:
    """Yield the rows and show progress."""
    from greffe.progress import Progress

    with Progress("predict", None, "texts") as progress:
        for row in rows:
            progress.advance(1)
            yield row


def _show(results: Results, format_: Format) -> None:
    """Print the rows; each is flushed: what was predicted is not lost if the rest is stopped."""
    from greffe.inference.prediction_files import csv_rows, json_rows

    if format_ == "table":
        _print_tables(results)
    elif format_ == "jsonl":
        for row in json_rows(results):
            print_json(row)
    else:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        for cells in csv_rows(results):
            writer.writerow(cells)
            sys.stdout.flush()


def _write(results: Results, format_: Format, out: Path) -> None:
    """Write the rows to a file, which is there only when it is complete."""
    from greffe.inference.prediction_files import write_results
    from greffe.storage import atomic_file

    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(out) as file:
        if format_ == "table":
            text = io.TextIOWrapper(file, encoding="utf-8")
            _print_tables(results, text)
            text.detach()
        else:
            write_results(file, format_, results)


def _print_tables(results: Results, file: TextIO | None = None) -> None:
    from greffe.cli.terminal_tables import prediction_table, print_tables

    # A table holds its rows in memory: many texts are printed as several tables.
    while rows := list(islice(results.rows, TABLE_ROWS)):
        print_tables([prediction_table(rows, results.columns)], file)

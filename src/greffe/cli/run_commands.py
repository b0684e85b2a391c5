"""Verbs that use a run: evaluate, predict, generate, fill."""

from __future__ import annotations

import csv
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from greffe.cli import flags
from greffe.cli.json_output import print_json
from greffe.cli.loading import loading
from greffe.config.bounds import (
    NewTokens,
    PositiveFraction,
    Rate,
    Seed,
    Shown,
    Temperature,
    TopK,
)
from greffe.config.option_groups import Without
from greffe.config.options import Computing, Labelling, Reading
from greffe.display import terminal_text
from greffe.errors import InputError, InterruptedRunError

if TYPE_CHECKING:
    from greffe.inference.prediction import Prediction

RunPath = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run's folder, greffe-fr or hf:owner/name.")
]
Format = Literal["table", "jsonl", "csv"]
TABLE_ROWS = 1000
BEGINNING = 1000  # characters, of which a table shows one line


@flags.expand_groups
def evaluate(
    run: RunPath,
    data: Annotated[
        Path, typer.Option("--data", help="Labelled texts that the run was not trained on.")
    ],
    reading: Annotated[Reading, Without("documents")],
    computing: Labelling,
    long: flags.Long = "windows",
    as_json: flags.Json = False,
) -> None:
    """Print accuracy and other metrics on labelled texts.

    The others are macro F1, scores per class, the confusion matrix, log loss and calibration error.
    """
    with loading():
        from greffe.api import load
        from greffe.cli.terminal_tables import evaluation_tables, print_tables
        from greffe.training.compute import set_up_compute

    set_up_compute()
    result = load(run, computing=computing).evaluate(data, reading=reading, long=long)
    if as_json:
        print_json(result.to_json())
    else:
        print(result.summary())
        print_tables(evaluation_tables(result))


@flags.expand_groups
def predict(
    run: RunPath,
    reading: Annotated[Reading, Without("documents", "label_column")],
    computing: Labelling,
    texts: Annotated[list[str] | None, typer.Argument(help="Texts to label.")] = None,
    input_: Annotated[
        str | None,
        typer.Option("--input", help="A file with one text per line, or a table; - for stdin."),
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="Output format.")] = "table",
    long: flags.Long = "windows",
) -> None:
    """Print a label and probabilities for each text."""
    if texts and input_ is not None:
        raise InputError("Texts and --input are mutually exclusive.", hint="leave out one of them")
    if not texts and input_ is None and _is_terminal(sys.stdin):
        raise InputError(
            "There is nothing to predict.",
            expected="texts, --input FILE, or text on standard input",
            hint='greffe predict RUN "Un livre magnifique."',
        )
    with loading():
        from greffe.api import load
        from greffe.data.tables import read_texts
        from greffe.training.compute import set_up_compute

    set_up_compute()
    classifier = load(run, computing=computing)
    stream: Iterable[str] = texts or read_texts("-" if input_ is None else input_, reading)
    pending: deque[str] = deque()
    predictions = classifier.stream_predictions(_remember(stream, pending), long=long)
    if not texts:
        predictions = _with_progress(predictions)
    if classifier.manifest().kind != "linear":
        predictions = _with_cut_notice(predictions, classifier.model.spec.context)
    try:
        _print_predictions(predictions, pending, format_, classifier.labels)
    except KeyboardInterrupt:
        raise InterruptedRunError("Stopped; what was printed so far is complete.") from None


@flags.expand_groups
def generate(
    run: RunPath,
    computing: Computing,
    prompt: Annotated[str, typer.Argument(help="The beginning of the text.")] = "",
    tokens: Annotated[int, flags.number(NewTokens, help="Maximum number of new tokens.")] = 40,
    temperature: Annotated[
        float, flags.number(Temperature, help="0: always the most likely token.")
    ] = 0.8,
    top_k: Annotated[
        int, flags.number(TopK, help="Sample from the k most likely tokens; 0: all.")
    ] = 0,
    top_p: Annotated[
        float,
        flags.number(
            PositiveFraction, help="Sample from the most likely tokens with total probability p."
        ),
    ] = 0.95,
    repetition_penalty: Annotated[
        float, flags.number(Rate, help="Above 1: less repetition.")
    ] = 1.1,
    seed: Annotated[int, flags.number(Seed, help="Random seed.")] = 0,
) -> None:
    """Continue a text."""
    with loading():
        from greffe.api import load

    shown = terminal_text if sys.stdout.isatty() else str
    for piece in load(run, device=computing.device, precision=computing.precision).stream(
        prompt,
        tokens=tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        repetition_penalty=repetition_penalty,
        seed=seed,
    ):
        print(shown(piece), end="", flush=True)
    print()


@flags.expand_groups
def fill(
    run: RunPath,
    text: Annotated[str, typer.Argument(help='A text with a mask: "Ce livre est <mask>."')],
    computing: Computing,
    top: Annotated[int, flags.number(Shown, help="Number of words per <mask>.")] = 5,
    as_json: flags.Json = False,
) -> None:
    """Print the most likely words for each <mask>."""
    with loading():
        from greffe.api import load
        from greffe.cli.terminal_tables import fill_tables, print_tables

    opened = load(run, device=computing.device, precision=computing.precision)
    gaps = opened.fill(text, top=top)
    if as_json:
        print_json(
            [
                [{"word": f.word, "probability": f.probability, "text": f.text} for f in gap]
                for gap in gaps
            ]
        )
    else:
        print_tables(fill_tables(gaps))


def _is_terminal(stdin: TextIO | None) -> bool:
    # A program may be started without standard input, or close it.
    return stdin is not None and not stdin.closed and stdin.isatty()


def _remember(texts: Iterable[str], pending: deque[str]) -> Iterator[str]:
    """Yield the texts and add their beginnings to `pending`, to be printed with the predictions."""
    for text in texts:
        pending.append(text[:BEGINNING])
        yield text


def _with_progress(predictions: Iterator[Prediction]) -> Iterator[Prediction]:
    """Yield the predictions and show progress."""
    from greffe.progress import Progress

    with Progress("predict", None, "texts") as progress:
        for prediction in predictions:
            progress.advance(1)
            yield prediction


def _with_cut_notice(predictions: Iterator[Prediction], context: int) -> Iterator[Prediction]:
    """Yield the predictions; at the end, print a notice about texts that were cut."""
    from greffe.inference.prediction import describe_cut
    from greffe.progress import notice

    cuts = []
    for prediction in predictions:
        cuts += [prediction.cut] if prediction.cut else []
        yield prediction
    if cuts:
        notice(describe_cut(len(cuts), sum(cuts), context))


def _print_predictions(
    predictions: Iterator[Prediction], pending: deque[str], format_: Format, labels: list[str]
) -> None:
    if format_ == "table":
        from greffe.cli.terminal_tables import prediction_table, print_tables

        # A table holds its rows in memory: many texts are printed as several tables.
        while rows := [(found, pending.popleft()) for found in islice(predictions, TABLE_ROWS)]:
            print_tables([prediction_table(rows)])
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if format_ == "csv":
        writer.writerow(["label", "score", *labels])
    for prediction in predictions:
        pending.popleft()  # only a table shows the texts
        # Each row is flushed: what was predicted is not lost if the rest is interrupted.
        if format_ == "csv":
            probabilities = prediction.probabilities.values()
            writer.writerow([prediction.label, prediction.score, *probabilities])
            sys.stdout.flush()
        else:
            row = {
                "label": prediction.label,
                "score": prediction.score,
                "probabilities": prediction.probabilities,
            }
            print_json(row)

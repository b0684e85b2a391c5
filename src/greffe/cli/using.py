"""Verbs that use a run: evaluate, predict, generate, fill."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greffe.cli import options as o

if TYPE_CHECKING:
    from greffe.inference.predict import Prediction

RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or greffe-fr.")]


class Format(StrEnum):
    """How predictions are printed."""

    table = "table"
    jsonl = "jsonl"
    csv = "csv"


def evaluate(
    run: RunPath,
    data: Annotated[Path, typer.Option("--data", help="Labelled texts the run never saw.")],
    long: o.Long = o.LongTexts.windows,
    encoding: o.Encoding = "utf-8",
    text_column: o.TextColumn = None,
    label_column: o.LabelColumn = None,
    as_json: o.Json = False,
) -> None:
    """Accuracy, macro F1, per-class table, confusion matrix, log loss, calibration error."""
    from greffe import api
    from greffe.cli.render import evaluation_tables, print_tables
    from greffe.training.compute import set_up_compute

    set_up_compute()
    reading = o.read_options(encoding=encoding, text_column=text_column, label_column=label_column)
    result = api.load(run).evaluate(data, options=reading, long=long.value)
    if as_json:
        print(json.dumps(result.to_json(), ensure_ascii=False))
    else:
        print(result.summary())
        print_tables(evaluation_tables(result))


def predict(
    run: RunPath,
    texts: Annotated[list[str] | None, typer.Argument(help="Texts to label.")] = None,
    input_: Annotated[
        str | None,
        typer.Option("--input", help="A file of texts, a line each, or a table; -: stdin."),
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    long: o.Long = o.LongTexts.windows,
    encoding: o.Encoding = "utf-8",
    text_column: o.TextColumn = None,
) -> None:
    """Label and probabilities for texts, a file, or standard input."""
    from greffe import api
    from greffe.data.tables import read_texts
    from greffe.errors import InputError, InterruptedRunError
    from greffe.training.compute import set_up_compute

    if texts and input_:
        raise InputError("Texts and --input at once cannot be.", hint="give one of them")
    if not texts and input_ is None and sys.stdin.isatty():
        raise InputError(
            "There is nothing to predict.",
            expected="texts, --input FILE, or text on standard input",
            hint='greffe predict RUN "Un livre magnifique."',
        )
    reading = o.read_options(encoding=encoding, text_column=text_column)
    set_up_compute()
    classifier = api.load(run)
    stream: Iterable[str] = texts or read_texts(input_ or "-", reading)
    shown: list[str] = []
    predictions = classifier.stream_predictions(_kept(stream, shown), long=long.value)
    if not texts:
        predictions = _watched(predictions)
    if classifier.manifest().kind != "linear":
        predictions = _with_cut_notice(predictions, classifier.model.spec.context)
    try:
        _print_predictions(predictions, shown, format_, classifier.labels)
    except KeyboardInterrupt:
        raise InterruptedRunError("Stopped; what was printed so far is complete.") from None


def generate(
    run: RunPath,
    prompt: Annotated[str, typer.Argument(help="How the text begins.")] = "",
    tokens: Annotated[int, typer.Option(help="At most so many new tokens.")] = 40,
    temperature: Annotated[float, typer.Option(help="0: always the likeliest.")] = 0.8,
    top_k: Annotated[int, typer.Option(help="Choose among the k likeliest; 0: all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Choose among the likeliest p of the mass.")] = 0.95,
    repetition_penalty: Annotated[float, typer.Option(help="Above 1: repeat less.")] = 1.1,
    seed: Annotated[int, typer.Option(help="Another seed, another text.")] = 0,
) -> None:
    """Continue a text, word by word."""
    from greffe import api

    for piece in api.load(run).stream(
        prompt,
        tokens=tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        repetition_penalty=repetition_penalty,
        seed=seed,
    ):
        print(piece, end="", flush=True)
    print()


def fill(
    run: RunPath,
    text: Annotated[str, typer.Argument(help='A text with a gap: "Ce livre est <mask>."')],
    top: Annotated[int, typer.Option(help="How many words a gap.")] = 5,
    as_json: o.Json = False,
) -> None:
    """The most likely words for each <mask>."""
    from greffe import api
    from greffe.cli.render import fill_tables, print_tables

    gaps = api.load(run).fill(text, top=top)
    if as_json:
        print(
            json.dumps(
                [
                    [{"word": f.word, "probability": f.probability, "text": f.text} for f in gap]
                    for gap in gaps
                ],
                ensure_ascii=False,
            )
        )
    else:
        print_tables(fill_tables(gaps))


def _kept(texts: Iterable[str], shown: list[str]) -> Iterator[str]:
    """The same texts; each is put aside until its prediction is printed beside it."""
    for text in texts:
        shown.append(text)
        yield text


def _watched(predictions: Iterator[Prediction]) -> Iterator[Prediction]:
    """The same predictions, with progress."""
    from greffe.progress import Progress

    with Progress("predict", None, "texts") as progress:
        for prediction in predictions:
            progress.advance(1)
            yield prediction


def _with_cut_notice(predictions: Iterator[Prediction], context: int) -> Iterator[Prediction]:
    """The same predictions and, at the end, a word about what was cut."""
    from greffe.inference.predict import describe_cut
    from greffe.progress import notice

    cuts = []
    for prediction in predictions:
        cuts += [prediction.cut] if prediction.cut else []
        yield prediction
    if cuts:
        notice(describe_cut(len(cuts), sum(cuts), context))


def _print_predictions(
    predictions: Iterator[Prediction], shown: list[str], format_: Format, labels: list[str]
) -> None:
    if format_ is Format.table:
        from greffe.cli.render import prediction_table, print_tables

        found = list(predictions)
        print_tables([prediction_table(found, shown)])
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if format_ is Format.csv:
        writer.writerow(["label", "score", *labels])
    for prediction in predictions:
        shown.clear()  # a stream keeps no texts
        # Each row leaves at once: what was predicted is not lost if the rest is stopped.
        if format_ is Format.csv:
            probabilities = prediction.probabilities.values()
            writer.writerow([prediction.label, prediction.score, *probabilities])
            sys.stdout.flush()
        else:
            row = {
                "label": prediction.label,
                "score": prediction.score,
                "probabilities": prediction.probabilities,
            }
            print(json.dumps(row, ensure_ascii=False), flush=True)

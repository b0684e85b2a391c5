"""Verbs that use a run: evaluate, calibrate, generate, fill."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from greffe.cli import flags
from greffe.cli.json_output import print_json
from greffe.cli.loading import load_classifier, loading
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


@flags.expand_groups
def evaluate(
    run: flags.ModelPath,
    data: Annotated[
        Path, typer.Option("--data", help="Labelled texts that the run was not trained on.")
    ],
    reading: Annotated[Reading, Without("documents")],
    computing: Labelling,
    long: flags.Long = "windows",
    calibrated: flags.Calibrated = False,
    as_json: flags.Json = False,
) -> None:
    """Print accuracy and other metrics on labelled texts.

    The others are macro F1, scores per class, the confusion matrix, log loss and calibration error.
    """
    with loading():
        from greffe.cli.terminal_tables import evaluation_tables, print_tables

    result = load_classifier(run, computing).evaluate(
        data, reading=reading, long=long, calibrated=calibrated
    )
    if as_json:
        print_json(result.to_json())
    else:
        print(result.summary())
        print_tables(evaluation_tables(result))


@flags.expand_groups
def calibrate(
    run: flags.RunPath,
    data: Annotated[
        Path, typer.Option("--data", help="Labelled texts that the run was not trained on.")
    ],
    reading: Annotated[Reading, Without("documents")],
    computing: Labelling,
    as_json: flags.Json = False,
) -> None:
    """Fit probabilities to labelled texts, for --calibrated.

    The temperature that all logits are divided by is recorded in the run. Log loss and calibration
    error on these texts are printed, before and after.
    """
    with loading():
        from greffe.api.runs import load_run
        from greffe.training.compute import set_up_compute

    set_up_compute()
    found = load_run(run, computing=computing).calibrate(data, reading=reading)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        print(found.describe())


@flags.expand_groups
def generate(
    run: flags.RunPath,
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
        from greffe.api.runs import load_run

    shown = terminal_text if sys.stdout.isatty() else str
    for piece in load_run(run, device=computing.device, precision=computing.precision).stream(
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
    run: flags.RunPath,
    text: Annotated[str, typer.Argument(help='A text with a mask: "Ce livre est <mask>."')],
    computing: Computing,
    top: Annotated[int, flags.number(Shown, help="Number of words per <mask>.")] = 5,
    as_json: flags.Json = False,
) -> None:
    """Print the most likely words for each <mask>."""
    with loading():
        from greffe.api.runs import load_run
        from greffe.cli.terminal_tables import fill_tables, print_tables

    opened = load_run(run, device=computing.device, precision=computing.precision)
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

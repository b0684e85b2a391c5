"""The command `greffe`: its verbs, and how errors reach the user. Imports nothing heavy."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, NoReturn

import typer

from greffe.cli.comparing import compare, report
from greffe.cli.lab import lab
from greffe.cli.making import demo, ensemble, finetune, linear, prepare, pretrain
from greffe.cli.showing import show
from greffe.cli.studying import doctor
from greffe.cli.using import evaluate, fill, generate, predict
from greffe.errors import GreffeError

app = typer.Typer(
    name="greffe",
    help="Grow a small language model on your own text, graft a classifier onto it, and see what "
    "the pretraining was worth. On a laptop's CPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from greffe import __version__

        print(f"greffe {__version__}")
        raise typer.Exit


@app.callback()
def _greffe(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress and no notices, results only.")
    ] = False,
) -> None:
    if quiet:
        from greffe import progress

        progress.silence()


for verb in (
    *(
        demo,
        prepare,
        pretrain,
        finetune,
        linear,
        ensemble,
        compare,
        evaluate,
        predict,
        generate,
        fill,
    ),
    *(show, report, doctor, lab),
):
    app.command()(verb)


def main() -> None:
    """Run the command; a foreseen error is a message and an exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows another
    try:
        app(prog_name="greffe")
    except GreffeError as error:
        _fail(str(error), error.exit_code)
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        _fail(f"{error.strerror or error}{place}", 2)
    except (MemoryError, RuntimeError) as error:
        # torch has no class of its own for memory that cannot be had, nor for a rank gone away.
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            _fail(
                f"The memory of this machine is not enough.\n  found:    {error}\n"
                "  next:     a smaller train.batch or model, or --set train.accumulation=4",
                2,
            )
        if _is_main_rank():
            raise
        print(f"rank {os.environ['RANK']} ends: {error}", file=sys.stderr)
        sys.exit(1)


def _is_main_rank() -> bool:
    return os.environ.get("RANK", "0") == "0"


def _fail(message: str, code: int) -> NoReturn:
    """Say what is wrong, once: every rank finds the same mistake."""
    if _is_main_rank():
        print(f"error: {message}", file=sys.stderr)
    sys.exit(code)

"""The command `greffe`: its verbs, and how errors reach the user. Imports nothing heavy."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from greffe.cli.making import demo, finetune, prepare, pretrain
from greffe.cli.showing import show
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


for verb in (demo, prepare, pretrain, finetune, evaluate, predict, generate, fill, show):
    app.command()(verb)


def main() -> None:
    """Run the command; an error of ours is a message and an exit code, never a traceback."""
    try:
        app()
    except GreffeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: that is no error of the user's.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        place = f": {error.filename}" if error.filename else ""
        print(f"error: {error.strerror or error}{place}", file=sys.stderr)
        sys.exit(2)

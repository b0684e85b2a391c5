"""The command `greffe`: its verbs, and how errors reach the user. Imports nothing heavy."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from typing import Annotated, NoReturn

import typer

from greffe.cli.export_command import export
from greffe.cli.fit_command import fit
from greffe.cli.predict_command import predict
from greffe.cli.run_commands import calibrate, evaluate, fill, generate
from greffe.cli.show_command import show
from greffe.cli.study_commands import compare, doctor, report
from greffe.cli.train_commands import (
    demo,
    ensemble,
    finetune,
    import_base,
    lab,
    linear,
    prepare,
    pretrain,
)
from greffe.display import terminal_text
from greffe.errors import GreffeError, InputError, InterruptedRunError
from greffe.machine import memory_errors, reports_errors

app = typer.Typer(
    name="greffe",
    help="Pretrain a small language model on your own text, graft a classifier onto it, and "
    "measure what the pretraining was worth. Runs on a laptop's CPU.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(is_given: bool) -> None:
    if is_given:
        from greffe import __version__

        print(f"greffe {__version__}")
        raise typer.Exit


@app.callback()
def _greffe(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print results only, no progress and no notices.")
    ] = False,
) -> None:
    if quiet:
        from greffe import progress

        progress.silence()


for verb in (demo, fit, prepare, pretrain):
    app.command()(verb)
app.command("import")(import_base)
for verb in (
    *(finetune, linear, ensemble, compare, report, doctor),
    *(evaluate, calibrate, predict, export, generate, fill, show, lab),
):
    app.command()(verb)


def main() -> None:
    """Run the command; an expected error is a message and an exit code, never a traceback."""
    # The system frees all memory at once; looking for garbage in torch first takes 0.3 s.
    atexit.register(gc.freeze)
    try:
        with memory_errors():
            _replace_closed_streams()
            _replace_what_cannot_be_shown()
            _check_current_folder()
            app(prog_name="greffe")
    except GreffeError as error:
        _fail(str(error), error.exit_code)
    except OSError as error:
        file = f": {error.filename}" if error.filename else ""
        _fail(f"{error.strerror or error}{file}", 2)
    except KeyboardInterrupt:  # typer handles it once it has read the commands
        sys.exit(InterruptedRunError.exit_code)


def _replace_what_cannot_be_shown() -> None:
    """Print a question mark for a character that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _replace_closed_streams() -> None:
    """Discard what is printed to a closed stream.

    Python would print errors and notices among the results if standard error is closed, and the
    next file that is opened would get the number of the closed stream.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _check_current_folder() -> None:
    """Raise an error if the current folder was removed: libraries abort the process then."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise InputError(
            "The current folder does not exist any more.", hint="change to another folder: cd"
        ) from None


def _fail(message: str, code: int) -> NoReturn:
    """Print the error once: every rank finds the same."""
    if reports_errors():
        print(f"error: {terminal_text(message)}", file=sys.stderr)
    sys.exit(code)

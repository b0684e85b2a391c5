"""The exceptions that greffe raises deliberately.

An error states what went wrong, what was expected, what was found and what to do next. The command
line prints these lines without a traceback and exits with the error's code.

GreffeError                      exit code 1
├── InputError                   exit code 2: invalid input from the user
│   ├── DataError                files, tables, encodings, labels
│   ├── RecipeError              recipe keys and values, budgets, conflicting options
│   ├── MissingExtraError        an optional library is not installed
│   └── OutOfMemoryError         a model, batch or text too large for this machine
├── RunError                     exit code 3: a run directory or output folder
│   ├── RunExistsError           the output folder is not empty
│   ├── RunBusyError             another process is writing to the folder
│   ├── DiskFullError            no space left for the results
│   ├── CorruptError             damaged, truncated or unrecognized file
│   └── MismatchError            files that do not belong together
└── TrainingError                exit code 4: training cannot continue
    ├── DivergedError            losses, weights or scores are not finite
    └── InterruptedRunError      exit code 130: stopped on request, state saved
"""

from __future__ import annotations

import reprlib
from typing import Any

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 200


def quote(value: object) -> str:
    """Return a value as a message shows it: as Python writes it, and cut if that is long."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python does not write integers of thousands of digits
        return "an integer of thousands of digits"


def first_line(error: BaseException) -> str:
    """Return the class of another library's error and the beginning of its message."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]:.200}"


class GreffeError(Exception):
    """Base class: a message and, optionally, what was expected, what was found and a hint."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.message = message
        self.expected = expected
        self.found = found
        self.hint = hint
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let an error come from a worker process as it was raised there."""
        return _rebuild, (type(self), self.message, self.expected, self.found, self.hint)

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"  expected: {self.expected}"] if self.expected else []
        lines += [f"  found:    {self.found}"] if self.found else []
        lines += [f"  next:     {self.hint}"] if self.hint else []
        return "\n".join(lines)


def _rebuild(
    kind: type[GreffeError], message: str, expected: str | None, found: str | None, hint: str | None
) -> GreffeError:
    error = kind.__new__(kind)
    GreffeError.__init__(error, message, expected=expected, found=found, hint=hint)
    return error


class InputError(GreffeError):
    """Invalid input from the user."""

    exit_code = 2


class DataError(InputError):
    """An unusable file, table, encoding or label."""


class RecipeError(InputError):
    """An invalid recipe, budget or combination of options."""


class MissingExtraError(InputError):
    """An optional dependency is not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} requires the library {library!r}, which is not installed.",
            hint=f'pip install "greffe[{extra}]"',
        )


class OutOfMemoryError(InputError):
    """A model, a batch or a text that does not fit into the memory of this machine."""


class RunError(GreffeError):
    """A directory that cannot be used as requested."""

    exit_code = 3


class RunExistsError(RunError):
    """The output folder is not empty."""


class RunBusyError(RunError):
    """Another process is writing to the folder."""


class DiskFullError(RunError):
    """There is no space left to write to."""


class CorruptError(RunError):
    """A file is damaged, truncated or not of the expected kind."""


class MismatchError(RunError):
    """Files that do not belong together, such as a tokenizer and weights."""


class TrainingError(GreffeError):
    """Training cannot continue; the last good checkpoint is on disk."""

    exit_code = 4


class DivergedError(TrainingError):
    """Losses, weights or scores are not finite; such weights are never saved."""


class InterruptedRunError(TrainingError):
    """Interrupted by Ctrl-C or SIGTERM; the state is saved and the run can be resumed."""

    exit_code = 130

"""Every error that greffe raises on purpose. Knows nothing else of the project.

An error says what was expected, what was found and what to do next; the command line prints
exactly that and exits with the error's code, without a traceback.

GreffeError                      exit code 1
├── InputError                   exit code 2: what the user gave cannot be used
│   ├── DataError                files, tables, encodings, labels
│   ├── RecipeError              recipe keys and values, budgets, flags that contradict
│   └── MissingExtraError        an optional library is not installed
├── RunError                     exit code 3: a directory on disk
│   ├── RunExistsError           the output folder already holds something
│   ├── RunBusyError             another process writes there
│   ├── CorruptError             damaged, truncated or foreign file
│   └── MismatchError            two things that do not belong together
└── TrainingError                exit code 4: the run cannot go on
    └── InterruptedRunError      exit code 130: stopped on request, state saved
"""

from __future__ import annotations


class GreffeError(Exception):
    """Base of the tree: a sentence, and optionally expectation, finding and next step."""

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

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"  expected: {self.expected}"] if self.expected else []
        lines += [f"  found:    {self.found}"] if self.found else []
        lines += [f"  next:     {self.hint}"] if self.hint else []
        return "\n".join(lines)


class InputError(GreffeError):
    """What the user gave cannot be used."""

    exit_code = 2


class DataError(InputError):
    """A file, table, encoding or label that cannot be used."""


class RecipeError(InputError):
    """A recipe, a budget or a combination of flags that cannot be used."""


class MissingExtraError(InputError):
    """An optional library is needed and not installed."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the library {library!r}, which is not installed.",
            hint=f'pip install "greffe[{extra}]"',
        )


class RunError(GreffeError):
    """A directory on disk that cannot be used as asked."""

    exit_code = 3


class RunExistsError(RunError):
    """The output folder already holds something."""


class RunBusyError(RunError):
    """Another process is writing to the folder."""


class CorruptError(RunError):
    """A file is damaged, truncated or not what its name says."""


class MismatchError(RunError):
    """Two things that do not belong together: tokenizer and weights, weights and shape."""


class TrainingError(GreffeError):
    """The run cannot go on; the last good checkpoint is on disk."""

    exit_code = 4


class InterruptedRunError(TrainingError):
    """Stopped on request (Ctrl-C, SIGTERM); the state is saved and the run can be resumed."""

    exit_code = 130

"""The `tokenizers` library on contents of anyone: its errors and panics become errors of greffe."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from tokenizers import Tokenizer as Backend

from greffe.errors import CorruptError, MismatchError

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def check_size(backend: Backend, vocab: int) -> None:
    """Raise an error unless an embedding of `vocab` rows has one for every piece."""
    pieces = max(backend.get_vocab().values()) + 1
    if pieces > vocab:
        raise MismatchError(
            "The vocabulary does not match the embedding.",
            expected=f"at most {vocab:,} pieces, as many as the embedding has rows",
            found=f"{pieces:,} pieces in the tokenizer",
            hint="use the tokenizer of the same model, or resize the embedding",
        )


def open_backend(tree: dict[str, Any]) -> Backend:
    """Return the tokenizer of the library, without what greffe does itself."""
    model = {**tree["model"], "dropout": None} if tree["model"]["type"] == "BPE" else tree["model"]
    used = {**tree, "model": model, "truncation": None, "padding": None, "post_processor": None}
    return guarded("The tokenizer cannot be read.", Backend.from_str, json.dumps(used))


def guarded(
    message: str,
    function: Callable[_Arguments, _Result],
    /,
    *args: _Arguments.args,
    **kwargs: _Arguments.kwargs,
) -> _Result:
    """Call the library; what it raises, a panic too, becomes a CorruptError with this message.

    A TypeError passes: the library raises it for what is not text.
    """
    try:
        return function(*args, **kwargs)
    except TypeError:
        raise
    except Exception as error:
        raise CorruptError(message, found=str(error)) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # which cannot be imported
            raise
        raise CorruptError(message, found=f"an error of the tokenizers library: {error}") from None

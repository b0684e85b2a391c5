"""Which tokenizer an imported base gets: the one beside it, or one that is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from greffe.config.options import TokenizerOptions
from greffe.data.foreign_tokenizer_folder import read_foreign_tokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, InputError, MismatchError
from greffe.pipelines.prepare import find_tokenizer
from greffe.run import TOKENIZER_FILE, run_path

ReadTokenizer = Callable[[int], Tokenizer]
"""Given the rows of an embedding, returns a tokenizer with as many pieces."""


def tokenizer_reader(source: Path, options: TokenizerOptions) -> ReadTokenizer:
    """Return how the tokenizer of a base is read: from its folder, unless another one is given."""

    def read(vocab: int) -> Tokenizer:
        given = options.tokenizer
        if given is None and source.is_file():
            raise InputError(
                f"{source} comes without a tokenizer.",
                expected="--tokenizer with the one that the base was pretrained with",
                hint=f"greffe import {source} --tokenizer FILE.model --dictionary dict.txt "
                "--out RUN",
            )
        if given is None:
            return read_foreign_tokenizer(source, vocab)
        if isinstance(given, str | Path) and (folder := _foreign_folder(run_path(given))):
            return read_foreign_tokenizer(folder, vocab)
        tokenizer = find_tokenizer(options)
        assert tokenizer is not None
        return _require_size(tokenizer, vocab)

    return read


def _foreign_folder(path: Path) -> Path | None:
    """Return the folder of a tokenizer in Hugging Face format, if the path is one."""
    folder = path.parent if path.name == TOKENIZER_FILE else path
    if not folder.is_dir():
        return None
    try:
        Tokenizer.load(folder / TOKENIZER_FILE)
    except CorruptError:
        return folder  # what is wrong with it is said when it is read
    return None


def _require_size(tokenizer: Tokenizer, vocab: int) -> Tokenizer:
    if tokenizer.size == vocab:
        return tokenizer
    raise MismatchError(
        "The tokenizer does not match the embedding.",
        expected=f"{vocab:,} pieces, as many as the embedding has rows",
        found=f"{tokenizer.size:,} pieces",
        hint="pass the tokenizer that the base was pretrained with",
    )

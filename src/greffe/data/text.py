"""Read files, folders, patterns and datasets as a stream of documents.

Memory stays bounded: documents longer than LONG_DOCUMENT bytes come in parts.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from greffe.config.options import Reading
from greffe.data.columnar import HUB_PREFIX, HubTable, ParquetTable
from greffe.data.columns import OnBadRow, Table, find_text, notice_duplicates, refuse, text_of
from greffe.data.files import (
    FORMATS,
    SUFFIXES_READ,
    Line,
    check_file,
    cut_point,
    file_status,
    read_lines,
    split_suffix,
)
from greffe.data.rows import DelimitedTable, JsonTable, join_pieces
from greffe.errors import DataError
from greffe.progress import notice, notice_once

LONG_DOCUMENT = 1 << 20  # bytes: longer documents are split into parts
TYPICAL_COMPRESSION = 4  # text is compressed to about a quarter


# --- which sources ------------------------------------------------------------------------------


def find_sources(inputs: Sequence[str | Path]) -> list[str]:
    """Return the sources for files, folders (recursively, sorted), patterns and `hf:` names.

    A file named by the user must be readable; in folders and patterns, files of other formats and
    empty files are skipped.
    """
    sources: dict[str, str] = {}  # real path → as given
    for item in map(str, inputs):
        if item.startswith(HUB_PREFIX):
            sources.setdefault(item, item)
            continue
        for source in _expand(item):
            sources.setdefault(os.path.realpath(source), source)
    if not sources:
        raise DataError("No input was given.", expected="files, folders or patterns", found="none")
    return list(sources.values())


def _expand(item: str) -> list[str]:
    if os.path.isdir(item):
        return _readable(item, _walk(item))
    if not os.path.exists(item) and glob.has_magic(item):
        inside = (file for match in sorted(_matches(item)) for file in _walk(match))
        return _readable(item, inside)
    check_file(item)
    _check_format(item)
    return [item]


def _matches(pattern: str) -> set[str]:
    """Return the paths that match a pattern, level by level, each path once.

    glob.glob takes exponential time for several `**`, and for folders with links to themselves.
    """
    path = Path(pattern)
    *folders, last = path.parts[1:] if path.anchor else path.parts
    found = {path.anchor}
    for part in folders:
        if part == "**":
            found = _with_subfolders(found)
        else:
            found = {match for match in _inside(found, part) if os.path.isdir(match)}
    if last == "**":
        return found  # folders are searched deeply anyway
    return {match for match in _inside(found, last) if os.path.lexists(match)}


def _inside(folders: Iterable[str], part: str) -> Iterator[str]:
    """Yield the paths inside folders whose names match one part of a pattern."""
    for folder in folders:
        if not glob.has_magic(part):
            yield os.path.join(folder, part)
            continue
        for name in fnmatch.filter(_names(folder), part):
            if name[0] != "." or part[0] == ".":
                yield os.path.join(folder, name)


def _with_subfolders(starts: Iterable[str]) -> set[str]:
    """Return the folders and all below them; hidden ones and links are left out."""
    found: set[str] = set()
    pending = list(starts)
    while pending:
        folder = pending.pop()
        if folder not in found:
            found.add(folder)
            inside = (os.path.join(folder, name) for name in _names(folder) if name[0] != ".")
            pending += (path for path in inside if os.path.isdir(path) and not os.path.islink(path))
    return found


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder or os.curdir)
    except (OSError, ValueError):  # no folder, or one that may not be read
        return []


def _walk(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    for folder, subfolders, files in os.walk(path):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        yield from (os.path.join(folder, name) for name in sorted(files) if name[0] != ".")


def _readable(item: str, files: Iterable[str]) -> list[str]:
    seen, empty, sources = 0, 0, []
    for file in files:
        seen += 1
        if not os.path.splitext(file)[1] or split_suffix(file)[0] not in FORMATS:
            continue
        if _size(file):
            sources.append(file)
        else:
            empty += 1
    if not sources:
        others = f", {empty} of them empty" if empty else ""
        raise DataError(
            f"{item} contains no readable files.",
            expected=f"files that end in {SUFFIXES_READ}",
            found=f"{seen} files{others}" if seen else "no files",
        )
    if empty:
        notice(f"{item}: skipping {empty} empty {'file' if empty == 1 else 'files'}.")
    return sources


def _size(file: str) -> int:
    try:
        return os.stat(file).st_size
    except OSError:  # a link to nothing, or a file that was just deleted
        return 0


def _check_format(source: str) -> str:
    kind, _ = split_suffix(source)
    if kind not in FORMATS:
        raise DataError(
            f"{source} has an unsupported format.",
            expected=f"a name that ends in {SUFFIXES_READ}",
            found=f".{kind}",
            hint="if it is plain text, give it a name that ends in .txt",
        )
    return kind


def source_identity(source: str) -> dict[str, object]:
    """Return name, size and modification time, which identify a source without reading it."""
    if source.startswith(HUB_PREFIX):
        return {"name": source}
    status = file_status(source)
    return {
        "name": Path(source).name,
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
    }


def estimated_bytes(sources: Sequence[str]) -> int | None:
    """Estimate the amount of text without reading it; None for Hugging Face datasets."""
    if any(source.startswith(HUB_PREFIX) for source in sources):
        return None
    return sum(
        file_status(source).st_size * (TYPICAL_COMPRESSION if split_suffix(source)[1] else 1)
        for source in sources
    )


# --- what they hold -----------------------------------------------------------------------------


def open_table(
    source: str, options: Reading, *, named: Sequence[str] = (), on_bad: OnBadRow = refuse
) -> Table | None:
    """Return the table of a source, or None if it is plain text; `named` are more columns."""
    if source.startswith(HUB_PREFIX):
        return HubTable.open(source)
    match _check_format(source):
        case "csv" | "tsv" as kind:
            given = (options.text_column, options.label_column, *named)
            return DelimitedTable.open(source, options.encoding, kind, given, on_bad)
        case "jsonl":
            return JsonTable.open(source, options.encoding, on_bad)
        case "parquet":
            return ParquetTable.open(source)
    return None


def check_readable(sources: Iterable[str], options: Reading) -> None:
    """Raise the errors that the beginning of each source shows: no access, no text column, …

    Hours of reading the sources before it are then not lost.
    """
    for source in sources:
        with closing(read_documents(source, options)) as documents:
            next(documents, None)


def table_texts(table: Table, options: Reading) -> Iterator[str]:
    """Find the text column; then yield the text of every row. A blank line is an empty text."""
    position = find_text(table, options.text_column)
    notice_duplicates(table)
    return (
        "" if cells is None else text_of(cells[0], table, number)
        for number, cells in table.rows([position])
    )


def read_documents(source: str, options: Reading) -> Generator[str]:
    """Yield the non-empty documents of a source; those over LONG_DOCUMENT bytes come in parts."""
    table = open_table(source, options)
    if table is not None:
        parts = _cut_texts(table_texts(table, options))
    elif split_suffix(source)[0] == "spm":
        lines = read_lines(source, options.encoding, longest=LONG_DOCUMENT)
        parts = ((join_pieces(line.text), line.ends) for line in lines)
    else:
        lines = read_lines(source, options.encoding, longest=LONG_DOCUMENT)
        parts = _by_lines(lines) if options.documents == "line" else _grouped(lines, options)
    cut, inside = 0, False
    for text, ends in parts:
        cut += not ends and not inside
        inside = not ends
        if text and not text.isspace():
            yield text
    if cut:
        # A source is read several times: to scan, to train a tokenizer, to encode.
        notice_once(
            f"{source}: {cut} {'document' if cut == 1 else 'documents'} longer than "
            f"{LONG_DOCUMENT >> 20} MiB split into parts."
        )


# Each of these yields parts: (text, whether the document ends with it).


def _by_lines(lines: Iterator[Line]) -> Iterator[tuple[str, bool]]:
    return ((line.text, line.ends) for line in lines)


def _cut_texts(texts: Iterator[str]) -> Iterator[tuple[str, bool]]:
    for text in texts:
        if len(text) * 4 > LONG_DOCUMENT:  # a character takes at most 4 bytes
            data = text.encode("utf-8")
            while len(data) > LONG_DOCUMENT:
                cut = cut_point(data, LONG_DOCUMENT)
                yield data[:cut].decode("utf-8"), False
                data = data[cut:]
            text = data.decode("utf-8")
        yield text, True


def _grouped(lines: Iterator[Line], options: Reading) -> Iterator[tuple[str, bool]]:
    """Yield paragraphs, separated by blank lines, or the file; split at line ends if possible."""
    held: list[str] = []
    size = 0
    for line in lines:
        if options.documents == "paragraph" and line.ends and not line.text.strip():
            yield "".join(held).strip("\n"), True
            held, size = [], 0
            continue
        if held and size + line.size > LONG_DOCUMENT:
            yield "".join(held).strip("\n"), False
            held, size = [], 0
        held.append(f"{line.text}\n" if line.ends else line.text)
        size += line.size + line.ends
    yield "".join(held).strip("\n"), True

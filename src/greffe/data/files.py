"""Read files as bytes and lines: compression, encodings, line endings, damaged files.

Memory is bounded by the longest line requested, whatever the file contains.
"""

from __future__ import annotations

import codecs
import gzip
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import zstandard

from greffe.errors import DataError

FORMATS = ("txt", "jsonl", "csv", "tsv", "parquet", "spm")
COMPRESSIONS = ("gz", "xz", "zst")
SUFFIXES_READ = ".txt .jsonl .csv .tsv .parquet .review.spm, optionally followed by .gz .xz .zst"
STANDARD_INPUT = "-"
LONGEST_RECORD = (
    1 << 26
)  # bytes: a longer row of a table is an error, such as a missing closing quote
MOST_CELLS = 1_000_000
"""Of a row. Each cell needs 60 bytes of memory; separators inside quotes count too, and no text of
LONGEST_RECORD bytes has as many commas."""

_DOMAIN_NAMES = ("idna", "punycode")  # encodings of one word each: they cannot be read in chunks
_CHUNK = 1 << 18  # bytes
_SNIFFED = 1 << 16  # bytes examined to tell text from binary
# A zstd block of 4 bytes can expand to 128 KiB, and the decompressor returns everything at once:
# small slices limit the worst case to 8 MB.
_ZSTD_SLICE = 1 << 8
# Bytes of memory: xz -9 needs 65 MiB and zstd --ultra -22 needs 128 MiB, but a file may ask 4 GiB.
_WIDEST_WINDOW = 1 << 28


class Line(NamedTuple):
    """A line without its line ending, or a part of a long line."""

    text: str
    number: int  # from 1
    size: int  # bytes in UTF-8
    ends: bool  # False: the line continues in the next part
    error: DataError | None = None  # why it cannot be read; the text then has replaced characters


def split_suffix(source: str) -> tuple[str, str]:
    """Return format and compression by name: `a.csv.gz` → (csv, gz); no suffix means plain text."""
    name = Path(source).name.lower()
    stem, _, last = name.rpartition(".")
    compression = last if stem and last in COMPRESSIONS else ""
    if compression:
        name = stem
    stem, _, last = name.rpartition(".")
    return (last if stem else "txt"), compression


def check_file(source: str) -> None:
    """Raise DataError unless the source is a file that can be opened and is not empty."""
    with open_file(source):
        pass


@contextmanager
def open_file(source: str) -> Iterator[BufferedReader]:
    """Open a file that is not empty; anything but a regular file is a DataError."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(source, "rb", opener=_open_at_once))
            status = os.fstat(file.fileno())
        except IsADirectoryError:
            raise DataError(f"{source} is a folder.", expected="a file", found="a folder") from None
        except (OSError, ValueError) as error:  # ValueError: a NUL or a lone surrogate in the path
            raise _unreadable(source, error) from None
        if not stat.S_ISREG(status.st_mode):
            raise DataError(
                f"{source} is not a regular file.",
                expected="a file on disk, which can be read several times",
                found="a pipe or a device",
                hint="write its content to a file; greffe predict also reads standard input (-)",
            )
        if status.st_size == 0:
            raise DataError(f"{source} is empty.", expected="a file with text", found="0 bytes")
        yield file


def file_status(source: str) -> os.stat_result:
    """Return size and times of a file, or raise DataError."""
    try:
        return os.stat(source)
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from None


def _open_at_once(path: str, flags: int) -> int:
    # A named pipe that nobody writes to would block. Windows has neither the flag nor such pipes.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _unreadable(source: str, error: OSError | ValueError) -> DataError:
    try:
        where = f" (relative to {os.getcwd()})"
    except OSError:  # the working folder was deleted
        where = ""
    return DataError(
        f"{source} cannot be read.",
        expected="a file, a folder, a pattern such as 'texts/*.txt', or hf:owner/name",
        found=f"{getattr(error, 'strerror', None) or error}{where}",
        hint="check the spelling of the path",
    )


def damaged(source: str, error: BaseException) -> DataError:
    """Return the error for a compressed or columnar file with invalid content."""
    return DataError(
        f"{source} is damaged or truncated.",
        expected=f"a complete .{Path(source).suffix.lstrip('.')} file",
        found=str(error) or type(error).__name__,
        hint="download or create the file again; if its suffix is wrong, rename it",
    )


def read_chunks(source: str) -> Iterator[bytes]:
    """Yield decompressed bytes of a file, or of standard input (`-`), in chunks of bounded size."""
    _, compression = split_suffix(source)
    try:
        with _standard_input() if source == STANDARD_INPUT else open_file(source) as raw:
            if compression == "zst":
                yield from _zstd_chunks(raw)
            elif compression == "gz":
                with gzip.open(raw) as unpacked:
                    yield from iter(lambda: unpacked.read(_CHUNK), b"")
            elif compression == "xz":
                yield from _xz_chunks(raw)
            else:
                yield from iter(lambda: raw.read1(_CHUNK), b"")
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
        if "memory" in str(error).lower():
            raise _wide_window(source, error) from None
        raise damaged(source, error) from None
    except OSError as error:
        raise DataError(f"{source} cannot be read.", found=error.strerror or str(error)) from None


def _wide_window(source: str, error: BaseException) -> DataError:
    return DataError(
        f"{source} needs too much memory to be decompressed.",
        expected=f"a dictionary or window of less than {_WIDEST_WINDOW >> 20} MiB",
        found=str(error),
        hint="compress it again with xz -9, or with zstd without --long",
    )


def _standard_input() -> AbstractContextManager[BufferedReader]:
    # A program that was started without it has no stdin; a notebook's has no bytes.
    stdin = getattr(sys.stdin, "buffer", None)
    if stdin is None or stdin.closed:
        raise DataError(
            "There is no standard input.",
            expected="text on standard input, or a file",
            found="standard input is closed",
            hint="name a file with --input FILE",
        )
    return nullcontext(cast(BufferedReader, stdin))


def _xz_chunks(raw: BinaryIO) -> Iterator[bytes]:
    # Python's file reader does not limit the dictionary, and ignores what follows a stream if it
    # is not another one.
    data = raw.read(_CHUNK)
    while True:
        stream = lzma.LZMADecompressor(memlimit=_WIDEST_WINDOW)
        while not stream.eof:
            data = data or (raw.read(_CHUNK) if stream.needs_input else b"")
            if stream.needs_input and not data:
                raise EOFError("the file ends inside a compressed stream")
            if text := stream.decompress(data, _CHUNK):
                yield text
            data = b""
        data = stream.unused_data.lstrip(b"\0")  # padding
        while not data:
            if not (more := raw.read(_CHUNK)):
                return
            data = more.lstrip(b"\0")


def _zstd_chunks(raw: BinaryIO) -> Iterator[bytes]:
    # zstandard's file reader does not notice that a file ends in the middle of a frame.
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WIDEST_WINDOW)
    frame = None
    while data := raw.read(_ZSTD_SLICE):
        while data:
            frame = frame or decompressor.decompressobj()
            if text := frame.decompress(data):
                yield text
            data = frame.unused_data
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("the file ends inside a compressed frame")


def check_encoding(encoding: str) -> str:
    """Return the canonical name of a text encoding, or raise DataError."""
    try:
        " ".encode(encoding)
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):  # ValueError: no encoding has such a name
        name = ""
    if not name or name in _DOMAIN_NAMES:
        raise DataError(
            f"Unknown text encoding {encoding[:40]!r}.",
            expected="an encoding of Python: utf-8, latin-1, cp1252, utf-16, shift_jis, ...",
            found=repr(encoding[:40]),
        )
    return name


def read_lines(
    source: str, encoding: str, *, longest: int, keep_bad: bool = False
) -> Iterator[Line]:
    """Yield every line, including empty ones; a line of more than `longest` bytes comes in parts.

    Lines end only at \\n, \\r\\n or \\r. Parts end after a space if there is one; concatenated they
    are the line. A line that is not UTF-8 is a DataError; with `keep_bad` it comes with the error.
    """
    decoded = partial(_decoded, source, keep_bad=keep_bad)
    number, offset = 1, 0  # offset: bytes of the current line already yielded
    parts: list[bytes] = []  # its bytes after that
    size = 0
    for chunk in _hold_carriage_return(_utf8_chunks(source, check_encoding(encoding))):
        for piece in chunk.splitlines(keepends=True):
            ends = piece[-1] in b"\r\n"
            if ends and not parts and len(piece) <= longest and number > 1:  # nearly all lines
                data = piece.rstrip(b"\r\n")
                yield decoded(data, number, 0, ends=True)
                number += 1
                continue
            parts.append(piece.rstrip(b"\r\n") if ends else piece)
            size += len(parts[-1])
            if not ends and size <= longest:
                continue
            data = b"".join(parts)
            if number == 1 and offset == 0:
                data, offset = _drop_bom(data)
            while len(data) > longest:
                cut = cut_point(data, longest)
                yield decoded(data[:cut], number, offset, ends=False)
                data, offset = data[cut:], offset + cut
            if ends:
                yield decoded(data, number, offset, ends=True)
                number, offset, parts, size = number + 1, 0, [], 0
            else:
                parts, size = [data], len(data)
    data = b"".join(parts)
    if number == 1 and offset == 0:
        data, offset = _drop_bom(data)
    if data:
        yield decoded(data, number, offset, ends=True)


def whole_lines(source: str, encoding: str, *, keep_bad: bool = False) -> Iterator[Line]:
    """Yield every line as a whole; one of more than LONGEST_RECORD bytes is a DataError."""
    for line in read_lines(source, encoding, longest=LONGEST_RECORD, keep_bad=keep_bad):
        if not line.ends:
            raise too_long(source, line.number)
        yield line


def too_long(source: str, number: int) -> DataError:
    """Return the error for a row that is too long."""
    return DataError(
        f"The row that begins on line {number} of {source} exceeds {LONGEST_RECORD >> 20} MiB.",
        expected="one row per line; in .csv, a closing quote for every opening quote",
        found="no end of the row",
        hint="if the file is plain text, give it a name that ends in .txt",
    )


def check_cells(source: str, number: int, separators: int) -> None:
    """Raise an error if a row has so many separators that its cells would fill the memory."""
    if separators >= MOST_CELLS:
        raise DataError(
            f"The row that begins on line {number} of {source} has too many cells.",
            expected=f"at most {MOST_CELLS:,} cells",
            found=f"{separators:,} separators",
            hint="if the file is plain text, give it a name that ends in .txt",
        )


def cut_point(data: bytes, limit: int) -> int:
    """Return where to split UTF-8 text: after a line end or a space, not far before `limit`."""
    for mark in (b"\n", b" "):
        if (found := data.rfind(mark, limit // 2, limit)) >= 0:
            return found + 1
    cut = limit
    while cut > max(1, limit - 3) and data[cut] & 0xC0 == 0x80:  # inside a character
        cut -= 1
    return cut


def _decoded(
    source: str, data: bytes, number: int, offset: int, *, ends: bool, keep_bad: bool
) -> Line:
    try:
        return Line(data.decode("utf-8"), number, len(data), ends)
    except UnicodeDecodeError as error:
        position = offset + error.start
        problem = DataError(
            f"{source} is not UTF-8: line {number}, byte offset {position} in the line.",
            expected="text in UTF-8",
            found=f"the byte 0x{data[error.start]:02X} ({error.reason})",
            hint="specify the encoding, such as --encoding latin-1, or convert the file to UTF-8",
        )
        if not keep_bad:
            raise problem from None
        return Line(data.decode("utf-8", "replace"), number, len(data), ends, problem)


def _drop_bom(data: bytes) -> tuple[bytes, int]:
    rest = data.removeprefix(codecs.BOM_UTF8)
    return rest, len(data) - len(rest)


def _hold_carriage_return(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same bytes, never split between \\r and \\n."""
    held = b""
    for chunk in chunks:
        whole = held + chunk
        held = b"\r" if whole.endswith(b"\r") else b""
        yield whole[: len(whole) - len(held)]
    yield held


def _utf8_chunks(source: str, codec: str) -> Iterator[bytes]:
    chunks = read_chunks(source)
    if not codec.startswith(("utf-16", "utf-32")):
        chunks = _check_text(chunks, source, codec)
    if codec in ("utf-8", "utf-8-sig"):
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(codec)()
    consumed = 0
    for chunk in chain(chunks, (b"",)):
        try:
            data = decoder.decode(chunk, not chunk).encode("utf-8")
        except UnicodeError as error:
            raise _undecodable(source, codec, error, consumed + len(chunk)) from None
        consumed += len(chunk)
        yield data


def _undecodable(source: str, codec: str, error: UnicodeError, consumed: int) -> DataError:
    """Return the error for bytes that are not in this encoding; `consumed` includes the last."""
    where, found = f"in the first {consumed} bytes", str(error)
    if isinstance(error, UnicodeDecodeError):
        # The decoder may have kept bytes from before; the last one is where the chunk ends.
        where = f"byte offset {consumed - len(error.object) + error.start} in the file"
        found = f"the byte 0x{error.object[error.start]:02X} ({error.reason})"
    elif isinstance(error, UnicodeEncodeError):
        found = "a lone surrogate"
    return DataError(
        f"{source} is not {codec}: {where}.",
        expected=f"text in {codec}",
        found=found,
        hint="specify another encoding with --encoding, or convert the file to UTF-8",
    )


def _check_text(chunks: Iterator[bytes], source: str, codec: str) -> Iterator[bytes]:
    first = next(chunks, b"")
    while len(first) < _SNIFFED and source != STANDARD_INPUT and (more := next(chunks, b"")):
        first += more
    sniffed = first[:_SNIFFED]
    nulls = sniffed.count(0)
    marked = sniffed.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    # A single NUL may be part of a text.
    if marked or (nulls > 1 and nulls * 10 >= len(sniffed)):
        many = f"{nulls} NUL bytes in the first {len(sniffed)}"
        raise DataError(
            f"{source} looks like UTF-16 or a binary file, not {codec} text.",
            expected=f"text in {codec}",
            found="a UTF-16 byte order mark" if marked else many,
            hint="if it is text, use --encoding utf-16",
        )
    yield first
    yield from chunks

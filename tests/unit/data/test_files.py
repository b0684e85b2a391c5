"""Lines, compression and encodings: what is kept exactly, and what is refused with which words."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from tests.unit.data.reading import written

from greffe.data import files
from greffe.data.files import (
    Line,
    check_encoding,
    check_file,
    cut_point,
    file_status,
    read_chunks,
    read_lines,
    split_suffix,
    whole_lines,
)
from greffe.errors import DataError

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def lines_of(source: str, encoding: str = "utf-8") -> list[str]:
    return [line.text for line in whole_lines(source, encoding)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.txt", ("txt", "")),
        ("folder.d/A.CSV.GZ", ("csv", "gz")),
        ("x.review.spm", ("spm", "")),
        ("x.jsonl.zst", ("jsonl", "zst")),
        ("enwik8", ("txt", "")),
        ("enwik8.xz", ("txt", "xz")),
        ("folder.csv/notes", ("txt", "")),
        ("a.tar.gz", ("tar", "gz")),
    ],
)
def test_suffixes(name: str, parts: tuple[str, str]) -> None:
    assert split_suffix(name) == parts


def test_lines_end_at_newline_and_carriage_return_only(tmp_path: Path) -> None:
    text = "un\ndeux\r\ntrois\rquatre\u2028quatre\u0085\x0b\x0c\x1c\u2029fin\n\ndernier"
    source = written(tmp_path / "a.txt", text.encode())
    assert lines_of(source) == [
        *("un", "deux", "trois"),
        *("quatre\u2028quatre\u0085\x0b\x0c\x1c\u2029fin", "", "dernier"),
    ]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
def test_lines_do_not_depend_on_how_the_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(files, "_CHUNK", chunk)
    source = written(tmp_path / "a.txt", "\ufeffété\r\n\r\r\n€🙂\n\nfin\r".encode())
    assert lines_of(source) == ["été", "", "", "€🙂", "", "fin"]


def test_lines_know_number_size_and_whether_they_end(tmp_path: Path) -> None:
    source = written(tmp_path / "a.txt", "é\naaaa bbbb cc".encode())
    assert list(read_lines(source, "utf-8", longest=6)) == [
        Line("é", 1, 2, True),
        Line("aaaa ", 2, 5, False),
        Line("bbbb ", 2, 5, False),
        Line("cc", 2, 2, True),
    ]


def test_a_cut_never_parts_a_character() -> None:
    data = "🙂é€".encode() * 20
    for limit in range(8, 60):
        data[: cut_point(data, limit)].decode()
    assert cut_point(b"aaaa\nbb b bbbb", 12) == 10
    assert cut_point(b"aaaaaaa\nb bbbb", 12) == 8, "a line end is better than a space"


def test_a_byte_order_mark_is_dropped_and_counted_in_offsets(tmp_path: Path) -> None:
    assert lines_of(written(tmp_path / "a.txt", b"\xef\xbb\xbfbon\n")) == ["bon"]
    assert lines_of(written(tmp_path / "b.txt", b"\xef\xbb\xbf")) == []
    with pytest.raises(DataError, match="line 1, byte offset 5 in the line"):
        lines_of(written(tmp_path / "c.txt", b"\xef\xbb\xbfab\xe9\n"))


@pytest.mark.parametrize("suffix", list(COMPRESS))
def test_compressed_files_read_like_plain_ones(tmp_path: Path, suffix: str) -> None:
    text = "".join(f"ligne {number} — é\n" for number in range(5000))
    pack = COMPRESS[suffix]
    joined = pack(text.encode()) + pack(b"fin\n")  # a second member, as `cat a.gz b.gz` makes
    source = written(tmp_path / f"a.txt{suffix}", joined)
    assert lines_of(source) == [*text.splitlines(), "fin"]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("keep", [0.5, 0.999])
def test_a_truncated_compressed_file_is_refused(tmp_path: Path, suffix: str, keep: float) -> None:
    data = COMPRESS[suffix](b"".join(b"%d " % (number**3) for number in range(30000)))
    source = written(tmp_path / f"a.txt{suffix}", data[: int(len(data) * keep)])
    with pytest.raises(DataError, match="is damaged or truncated") as caught:
        list(read_chunks(source))
    assert caught.value.expected == f"a complete {suffix} file"
    assert caught.value.found


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_corrupt_compressed_file_is_refused(tmp_path: Path, suffix: str) -> None:
    source = written(tmp_path / f"a.txt{suffix}", b"plain text under a wrong name\n" * 10)
    with pytest.raises(DataError, match=r"a\.txt\.\w+ is damaged or truncated"):
        list(read_chunks(source))


def wide_zstd(data: bytes) -> bytes:
    options = zstandard.ZstdCompressionParameters(window_log=21, write_content_size=False)
    stream = zstandard.ZstdCompressor(compression_params=options).compressobj()
    return stream.compress(data) + stream.flush()


@pytest.mark.parametrize(("suffix", "pack"), [(".xz", lzma.compress), (".zst", wide_zstd)])
def test_a_file_that_needs_much_memory_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    pack: Callable[[bytes], bytes],
) -> None:
    source = written(tmp_path / f"a.txt{suffix}", pack(b"a text\n" * 1000))
    assert b"".join(read_chunks(source)) == b"a text\n" * 1000
    monkeypatch.setattr(files, "_WIDEST_WINDOW", 1 << 20)
    with pytest.raises(DataError, match="too much memory") as caught:
        list(read_chunks(source))
    assert "1 MiB" in str(caught.value.expected)


def test_what_follows_an_xz_stream_is_padding_or_another_stream(tmp_path: Path) -> None:
    one, two = lzma.compress(b"one\n"), lzma.compress(b"two\n")
    padded = written(tmp_path / "a.xz", one + bytes(1 << 19) + two + bytes(4))
    assert b"".join(read_chunks(padded)) == b"one\ntwo\n"
    with pytest.raises(DataError, match="damaged"):
        list(read_chunks(written(tmp_path / "b.xz", one + b"garbage")))


def test_a_flipped_byte_inside_gzip_is_refused(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(b"".join(b"%d " % (n**3) for n in range(30000))))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(DataError, match="is damaged or truncated"):
        list(read_chunks(written(tmp_path / "a.txt.gz", bytes(data))))


def test_not_utf8_says_where_and_offers_an_encoding(tmp_path: Path) -> None:
    source = written(tmp_path / "a.txt", "bon\nun café noir\n".encode("latin-1"))
    with pytest.raises(DataError) as caught:
        lines_of(source)
    message = str(caught.value)
    assert f"{source} is not UTF-8: line 2, byte offset 6 in the line." in message
    assert "the byte 0xE9" in message
    assert "--encoding latin-1" in message
    assert lines_of(source, "latin-1") == ["bon", "un café noir"]


def test_not_utf8_is_found_in_later_parts_of_a_long_line(tmp_path: Path) -> None:
    source = written(tmp_path / "a.txt", b"aaaa aaaa aaaa\xff aaaa")
    with pytest.raises(DataError, match="line 1, byte offset 14 in the line"):
        list(read_lines(source, "utf-8", longest=6))


def test_other_encodings_say_where_they_fail(tmp_path: Path) -> None:
    source = written(tmp_path / "a.txt", b"abc\x81d")
    with pytest.raises(DataError, match="is not cp1252: byte offset 3 in the file") as caught:
        lines_of(source, "cp1252")
    assert "0x81" in str(caught.value)
    odd = written(tmp_path / "b.txt", "été".encode("utf-16") + b"\x00")
    with pytest.raises(DataError, match="is not utf-16: byte offset 8 in the file"):
        lines_of(odd, "utf-16")


@pytest.mark.parametrize("chunk", [1, 3, 1 << 18])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "cp1252", "shift_jis"])
def test_other_encodings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, chunk: int
) -> None:
    monkeypatch.setattr(files, "_CHUNK", chunk)
    lines = ["日本語", "ソ表"] if encoding == "shift_jis" else ["été", "", "œuvre ਊ"[:5]]
    source = written(tmp_path / "a.txt", "\r\n".join(lines).encode(encoding))
    assert lines_of(source, encoding) == lines


def test_utf16_code_units_that_look_like_line_ends_are_not(tmp_path: Path) -> None:
    text = "a\u0a0d\u0d0ab"  # made of the bytes 0x0A and 0x0D
    assert lines_of(written(tmp_path / "a.txt", text.encode("utf-16")), "utf-16") == [text]


def test_an_unknown_encoding_is_refused() -> None:
    assert check_encoding("Latin-1") == "iso8859-1"
    for name in ("klingon", "base64"):
        with pytest.raises(DataError, match=f"Unknown text encoding '{name}'"):
            check_encoding(name)


@pytest.mark.parametrize(
    "name",
    [
        *("rot13", "hex", "idna", "punycode", "undefined", "aliases", ""),
        "a\0b",
        "\ud800",
        "x" * 9999,
    ],
)
def test_what_no_file_is_encoded_in_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="Unknown text encoding") as caught:
        check_encoding(name)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("encoding", "data", "found"),
    [
        ("utf-16", b"no byte order mark", "BOM"),
        ("utf-7", b"abc +2AA- def", "a lone surrogate"),
        ("unicode_escape", b"abc \\ud800", "a lone surrogate"),
        ("hz", b"abc ~{\x80", "0x"),
        ("iso2022_jp", b"abc \x1b$B\x80", "0x"),
        ("utf-32", b"abc", "0x61"),
    ],
)
def test_every_failure_of_a_decoder_names_the_file(
    tmp_path: Path, encoding: str, data: bytes, found: str
) -> None:
    with pytest.raises(DataError, match=r"a\.txt is not") as caught:
        lines_of(written(tmp_path / "a.txt", data), encoding)
    assert found in str(caught.value.found)
    assert "--encoding" in str(caught.value.hint)


@pytest.mark.parametrize("data", ["Un livre.\n".encode("utf-16-le"), b"\0" * 100, b"\xff\xfea\0"])
def test_many_nul_bytes_look_like_utf16_or_binary(tmp_path: Path, data: bytes) -> None:
    source = written(tmp_path / "a.txt", data)
    with pytest.raises(DataError, match="looks like UTF-16 or a binary file") as caught:
        lines_of(source)
    assert "--encoding utf-16" in str(caught.value)


def test_a_lone_nul_stays_in_the_text(tmp_path: Path) -> None:
    assert lines_of(written(tmp_path / "a.txt", b"a\0b\n")) == ["a\0b"]
    rare = (b"x" * 50 + b"\0") * 100
    assert lines_of(written(tmp_path / "b.txt", rare)) == [rare.decode()]


def test_a_missing_file_an_empty_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.txt cannot be read") as caught:
        check_file(str(tmp_path / "no.txt"))
    assert "No such file" in str(caught.value)
    with pytest.raises(DataError, match=r"empty\.txt is empty"):
        check_file(written(tmp_path / "empty.txt", b""))
    with pytest.raises(DataError, match="is a folder"):
        list(read_chunks(str(tmp_path)))


@pytest.mark.parametrize("name", ["a\0b.txt", "\ud800.txt", "x" * 5000, "x/" * 3000])
def test_a_path_that_cannot_exist_is_refused(name: str) -> None:
    for read in (check_file, file_status, lambda source: list(read_chunks(source))):
        with pytest.raises(DataError, match="cannot be read"):
            read(name)


def test_a_link_to_itself_and_a_deleted_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    with pytest.raises(DataError, match="symbolic links"):
        check_file(str(tmp_path / "loop.txt"))
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(DataError, match="No such file"):
        check_file("a.txt")


def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    for source in (str(tmp_path / "pipe.txt"), "/dev/zero", "/dev/null"):
        with pytest.raises(DataError, match="not a regular file") as caught:
            list(read_chunks(source))
        assert "standard input" in str(caught.value.hint)


def test_a_row_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_RECORD", 1 << 20)
    source = written(tmp_path / "a.tsv", b"1\tbon\n" + b"x" * (3 << 20))
    with pytest.raises(DataError, match=r"line 2 of .*a\.tsv exceeds 1 MiB"):
        lines_of(source)


def test_standard_input_is_read_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("é\r\n\nb".encode())))
    assert lines_of("-") == ["é", "", "b"]


def test_standard_input_may_be_missing_closed_or_without_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = io.TextIOWrapper(io.BytesIO())
    closed.close()
    for stdin in (None, closed, io.StringIO("text")):
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(DataError, match="no standard input"):
            lines_of("-")

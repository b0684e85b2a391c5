"""Reading text loses nothing, whatever the bytes, the compression and the way they are read."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from greffe.config.options import Reading
from greffe.data import files
from greffe.data.files import read_lines
from greffe.data.tables import Example, split_examples
from greffe.data.text import read_documents
from greffe.errors import DataError

characters = st.sampled_from("ab \n\r\t\0\u2028\u0085é€🙂▁") | st.characters(codec="utf-8")
texts = st.text(characters, max_size=60)
settings.register_profile("reading", deadline=None, max_examples=150)


@settings(settings.get_profile("reading"))
@given(texts, st.integers(1, 9), st.integers(4, 12), st.sampled_from(["utf-8", "utf-16"]))
def test_lines_are_those_of_the_text(text: str, chunk: int, longest: int, encoding: str) -> None:
    """Parts put together are the lines; no part is longer than asked."""
    expected = re.split("\r\n|\r|\n", text.removeprefix("\ufeff"))
    if expected[-1] == "":
        expected.pop()  # what follows the last line end is no line
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.txt")
        # The marker keeps the file from being empty, and texts full of NUL from looking binary.
        path.write_bytes((text + "\n" + "x" * 1024).encode(encoding))
        with patch.object(files, "_CHUNK", chunk):
            lines = list(read_lines(str(path), encoding, longest=longest))
    joined = [""]
    for line in lines:
        assert line.size == len(line.text.encode()) <= longest
        assert line.number == len(joined)
        joined[-1] += line.text
        joined += [""] if line.ends else []
    assert joined.pop() == ""
    assert joined.pop() == "x" * 1024
    assert [*expected, ""][: len(joined)] == joined and len(joined) >= len(expected)


@settings(settings.get_profile("reading"))
@given(st.lists(texts, min_size=1, max_size=4), st.integers(1, 40))
def test_zstandard_frames_cut_anywhere_are_noticed(frames: list[str], lost: int) -> None:
    """A file cut at a frame's end is a shorter file; cut elsewhere it is damaged."""
    packed = [zstandard.ZstdCompressor().compress(frame.encode()) for frame in frames]
    whole = b"".join(packed)
    cut = whole[: max(1, len(whole) - lost)]
    ends = [sum(map(len, packed[: n + 1])) for n in range(len(packed))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.txt.zst")
        path.write_bytes(cut)
        try:
            data = b"".join(files.read_chunks(str(path)))
        except DataError:
            assert len(cut) not in ends
        else:
            assert len(cut) in ends
            assert data == "".join(frames[: ends.index(len(cut)) + 1]).encode()


@settings(settings.get_profile("reading"))
@given(texts, st.integers(4, 30), st.sampled_from(["line", "paragraph", "file"]))
def test_documents_hold_every_visible_character(text: str, longest: int, kind: str) -> None:
    """Only white space between documents goes; a document is never empty nor too long."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.txt")
        path.write_bytes(text.encode() + b"\n" + b"x" * 1024)
        with patch("greffe.data.text.LONG_DOCUMENT", longest):
            options = Reading(documents=kind)  # type: ignore[arg-type]
            documents = list(read_documents(str(path), options))
    assert all(document.strip() for document in documents)
    assert all(len(document.encode()) <= longest for document in documents)
    visible = "".join((text.removeprefix("\ufeff") + "x" * 1024).split())
    assert "".join("".join(documents).split()) == visible


@settings(settings.get_profile("reading"))
@given(
    st.lists(st.tuples(st.sampled_from("uvwxyz"), st.sampled_from("ab"))),
    st.floats(0.01, 0.99),
    st.integers(0, 5),
)
def test_splits_partition_and_never_part_equal_texts(
    rows: list[tuple[str, str]], fraction: float, seed: int
) -> None:
    """With one label a text, a class of two texts or more is on both sides."""
    examples = [Example(f"{label} {text}", label) for text, label in rows]
    kept, held = split_examples(examples, fraction, seed)
    assert Counter(kept) + Counter(held) == Counter(examples)
    assert not {example.text for example in kept} & {example.text for example in held}
    for label in "ab":
        distinct = {example.text for example in examples if example.label == label}
        assert (label in {example.label for example in held}) == (len(distinct) >= 2)
        assert (label in {example.label for example in kept}) == (len(distinct) >= 1)

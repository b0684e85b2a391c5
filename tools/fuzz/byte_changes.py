"""Random changes of bytes: bits, cuts, copies, integers at their limits, words of the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

LARGEST = 1 << 18
"""Bytes of an input; larger ones only cost time."""
NUMBERS = (b"0", b"-1", b"1e999", b"9" * 30, b"2147483648", b"9223372036854775808", b"NaN", b"1.5")
WORDS = (
    *(b"\0", b"\n", b"\r\n", b'"', b"'", b",", b"\t", b"\\", b"{", b"[", b"]", b"}", b":", b"="),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\\ud800", b"<mask>", b"  "),
    *(b"null", b"true", b"[" * 200, b'{"a":' * 200, *NUMBERS),
)
INTEGERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 1 << 31, (1 << 31) - 1, (1 << 63) - 1)

Change = Callable[[Random, bytes], bytes]


def change_bytes(random: Random, data: bytes, words: Sequence[bytes] = WORDS) -> bytes:
    """Return the data after one or more random changes; few changes are the most likely."""
    for _ in range(min(1 + int(random.expovariate(0.8)), 12)):
        change = random.choice(_CHANGES)
        data = change(random, data) if change is not _put_word else _put_word(random, data, words)
    return data[:LARGEST]


def _place(random: Random, data: bytes) -> int:
    return random.randint(0, len(data))


def _slice(random: Random, data: bytes) -> tuple[int, int]:
    begin = _place(random, data)
    return begin, min(len(data), begin + int(random.expovariate(1 / 16)) + 1)


def _flip_bits(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut_end(random: Random, data: bytes) -> bytes:
    return data[: _place(random, data)]


def _remove(random: Random, data: bytes) -> bytes:
    begin, end = _slice(random, data)
    return data[:begin] + data[end:]


def _repeat(random: Random, data: bytes) -> bytes:
    begin, end = _slice(random, data)
    return data[:end] + data[begin:end] * random.choice((1, 2, 10, 1000)) + data[end:]


def _copy(random: Random, data: bytes) -> bytes:
    begin, end = _slice(random, data)
    place = _place(random, data)
    return data[:place] + data[begin:end] + data[place:]


def _overwrite(random: Random, data: bytes) -> bytes:
    begin, end = _slice(random, data)
    return data[:begin] + random.randbytes(end - begin) + data[end:]


def _put_integer(random: Random, data: bytes) -> bytes:
    """Write an integer of 1, 2, 4 or 8 bytes, as the headers of binary formats have them."""
    width = random.choice((1, 2, 4, 8))
    value = random.choice(INTEGERS) % (1 << 8 * width)
    place = _place(random, data)
    order = random.choice(("little", "big"))
    return data[:place] + value.to_bytes(width, order) + data[place + width :]  # type: ignore[arg-type]


def _put_word(random: Random, data: bytes, words: Sequence[bytes] = WORDS) -> bytes:
    begin, end = _slice(random, data)
    kept = end if random.random() < 0.3 else begin
    return data[:begin] + random.choice(words) + data[kept:]


_CHANGES: tuple[Change, ...] = (
    *(_flip_bits, _cut_end, _remove, _repeat, _copy, _overwrite),
    *(_put_integer, _put_word, _put_word),
)

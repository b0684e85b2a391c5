"""A matrix of palette indices as the bytes of a PNG file. Knows no colours of its own."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

Colour = tuple[int, int, int, int]


def encode_png(rows: Sequence[bytes], palette: Sequence[Colour]) -> bytes:
    """An image with one byte a pixel; colours are red, green, blue, opacity."""
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    colours = b"".join(bytes(colour[:3]) for colour in palette)
    opacities = bytes(colour[3] for colour in palette)
    # Each row begins with its filter; 0 is none.
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = ((b"IHDR", header), (b"PLTE", colours), (b"tRNS", opacities), (b"IDAT", pixels))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, (*chunks, (b"IEND", b""))))


def _chunk(chunk: tuple[bytes, bytes]) -> bytes:
    kind, content = chunk
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )

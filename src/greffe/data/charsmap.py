"""Check SentencePiece's table of normalized characters, which the library follows blindly.

The table is a trie as a double array, and the replacements that its leaves point to. In a damaged
one, a step of a search leads out of the array, and the library ends the process.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_SIZE = 4  # bytes of the trie's size, and of a unit
_LEAF, _VALUE, _LABEL = 1 << 8, (1 << 31) - 1, (1 << 31) | 0xFF
_BYTES = np.arange(1, 256)  # of a key; NUL ends it

_Indices = npt.NDArray[np.int64]


def check_charsmap(table: bytes) -> None:
    """Raise a ValueError unless every search in the table stays inside it."""
    size = int.from_bytes(table[:_SIZE], "little")
    if size < _SIZE or size % _SIZE or len(table) < _SIZE + size:
        raise ValueError(f"a trie of {size:,} bytes in a table of {len(table):,}")
    units = np.frombuffer(table[_SIZE : _SIZE + size], "<u4").astype(np.int64)
    replacements = table[_SIZE + size :]
    seen = np.zeros(len(units), np.bool_)
    nodes = _offsets(units[:1])  # where the children of a node are, relative to their byte
    while len(nodes):
        children = nodes[:, None] ^ _BYTES  # [nodes, bytes]
        _check_inside(children, units)
        is_child = units[children] & _LABEL == _BYTES
        parents = children[is_child]
        nodes = parents ^ _offsets(units[parents])
        _check_leaves(nodes[units[parents] & _LEAF > 0], units, replacements)
        _check_inside(nodes, units)
        nodes = np.unique(nodes[~seen[nodes]])
        seen[nodes] = True


def _offsets(units: _Indices) -> _Indices:
    return (units >> 10) << ((units & (1 << 9)) >> 6)


def _check_inside(indices: _Indices, units: _Indices) -> None:
    if indices.size and indices.max() >= len(units):
        raise ValueError(f"a trie that leads to {indices.max():,} of {len(units):,} units")


def _check_leaves(leaves: _Indices, units: _Indices, replacements: bytes) -> None:
    """Check that each leaf's value is the start of a character among the replacements."""
    _check_inside(leaves, units)
    for start in np.unique(units[leaves] & _VALUE).tolist():
        is_inside_character = start < len(replacements) and replacements[start] & 0xC0 == 0x80
        if start > len(replacements) or is_inside_character:
            raise ValueError(f"a leaf that leads to byte {start:,} of {len(replacements):,}")

"""Named, independent random streams: rng(seed, "mask", step, row).

Every random choice in greffe is a function of the seed and of its purpose, never of how many
choices came before. This is what makes resuming exact.
"""

from __future__ import annotations

import hashlib

import numpy as np


def derive(seed: int, *scope: str | int) -> int:
    """Return a 63-bit integer that depends only on the seed and the scope, on every platform."""
    text = "/".join([str(seed), *(f"{type(part).__name__}:{part}" for part in scope)])
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def rng(seed: int, *scope: str | int) -> np.random.Generator:
    """Return the NumPy generator for one purpose."""
    return np.random.Generator(np.random.Philox(derive(seed, *scope)))

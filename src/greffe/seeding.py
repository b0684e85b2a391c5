"""Named, independent random streams: rng(seed, "mask", step, row). Knows nothing else.

Every random choice in greffe is a function of the seed and of what the choice is for, never of
how many choices came before: that is what makes resuming exact.
"""

from __future__ import annotations

import hashlib

import numpy as np


def derive(seed: int, *scope: str | int) -> int:
    """A 63-bit integer from the seed and the scope; equal inputs give equal numbers everywhere."""
    text = "/".join([str(seed), *(f"{type(part).__name__}:{part}" for part in scope)])
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def rng(seed: int, *scope: str | int) -> np.random.Generator:
    """A NumPy generator for one purpose."""
    return np.random.Generator(np.random.Philox(derive(seed, *scope)))

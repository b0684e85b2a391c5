"""Tensors from a file that torch.save wrote, read without running anything that is in it.

torch's weights-only loader makes tensors and plain containers, and refuses every other object.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from greffe.errors import CorruptError

_OTHER_OBJECT = re.compile(r"GLOBAL (\S+)")


def read_pickled(path: Path, inside: str | None = None) -> dict[str, Tensor]:
    """Return the tensors of a state dict; they stay on disk until they are used, if torch can.

    With `inside`, the state dict may also be the value of this name in a larger dictionary.
    """
    if path.exists() and not path.is_file():  # reading from a pipe would block
        raise _refused(path, "not a file")
    tree = _load(path)
    if isinstance(tree, dict) and isinstance(tree.get(inside), dict):
        tree = tree[inside]
    if not isinstance(tree, dict):
        raise _refused(path, f"a {type(tree).__name__}")
    for name, value in tree.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise _refused(path, f"{name!r:.60}: a {type(value).__name__}")
    return dict(tree)


def _load(path: Path) -> Any:
    try:
        try:
            return _load_tensors(path, mmap=True)
        except RuntimeError as error:  # files of torch before 1.6 cannot be mapped
            if "mmap" not in str(error):
                raise
            return _load_tensors(path, mmap=False)
    except FileNotFoundError:
        raise CorruptError(f"{path} is missing.", expected="a file of tensors") from None
    except Exception as error:  # unpickling, zip files and storages raise what they like
        if other := _OTHER_OBJECT.search(str(error)):
            raise _refused(path, f"an object of another kind: {other[1]}") from None
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise _refused(path, f"{type(error).__name__}: {reason:.200}") from None


def _load_tensors(path: Path, *, mmap: bool) -> Any:
    return torch.load(path, map_location="cpu", weights_only=True, mmap=mmap)


def _refused(path: Path, found: str) -> CorruptError:
    return CorruptError(
        f"{path} is not a file of plain tensors.",
        expected="a state dict of tensors, as torch.save writes it, and nothing else",
        found=found,
        hint="convert the weights to safetensors where you trust them, and import those",
    )

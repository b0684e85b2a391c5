"""The weights of a folder in Hugging Face format: safetensors or torch files, whole or in shards.

Names, types and shapes are read first; tensors one by one, when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import torch
from pydantic import ConfigDict
from safetensors import SafetensorError, safe_open
from torch import Tensor

from greffe.config.spec import Spec
from greffe.errors import CorruptError, InputError
from greffe.interop.pickled_tensors import read_pickled
from greffe.model.tensor_header import Shape, read_header
from greffe.storage import read_model

SAFETENSORS = "model.safetensors"
PICKLED = "pytorch_model.bin"
INDEX = ".index.json"
WEIGHT_FILES = (SAFETENSORS, f"{SAFETENSORS}{INDEX}", PICKLED, f"{PICKLED}{INDEX}")
"""The files that may hold the weights or name their shards, in the order of preference."""


class _Index(Spec):
    """Which shard holds which tensor."""

    model_config = ConfigDict(extra="ignore")

    weight_map: dict[str, str]


@dataclass(frozen=True)
class TensorFiles:
    """The tensors of one or several files."""

    files: list[Path]
    shapes: dict[str, Shape] = field(default_factory=dict)
    _loaders: dict[str, Callable[[str], Tensor]] = field(default_factory=dict)

    def load(self, name: str) -> Tensor:
        """Read one tensor, which must be a floating-point one."""
        tensor = self._loaders[name](name)
        if not tensor.is_floating_point():
            raise CorruptError(
                f"The weights in {self.files[0].parent} cannot be used.",
                expected="floating-point tensors",
                found=f"{name} of type {tensor.dtype}",
                hint="import a model that is not quantized",
            )
        return tensor

    def add(self, shapes: dict[str, Shape], load: Callable[[str], Tensor]) -> None:
        """Add the tensors of one file."""
        self.shapes.update(shapes)
        self._loaders.update(dict.fromkeys(shapes, load))


def has_weights(folder: Path) -> bool:
    """Return whether a folder holds weights under one of the usual names."""
    return any((folder / name).exists() for name in WEIGHT_FILES)


def open_tensor_files(folder: Path) -> TensorFiles:
    """Return what the files of a folder hold; safetensors if there are both kinds."""
    found = next((folder / name for name in WEIGHT_FILES if (folder / name).exists()), None)
    if found is None:
        raise InputError(
            f"{folder} has no weights.",
            expected=" or ".join((SAFETENSORS, f"its shards with {SAFETENSORS}{INDEX}", PICKLED)),
            found=_listing(folder),
        )
    is_index = found.name.endswith(INDEX)
    files = _shards(found) if is_index else [found]
    tensors = TensorFiles(files)
    for file in files:
        if found.name.startswith(PICKLED):
            pickled = read_pickled(file)
            shapes = {name: tuple(tensor.shape) for name, tensor in pickled.items()}
            tensors.add(shapes, pickled.__getitem__)
        else:
            tensors.add(_header(file), partial(_read_one, file))
    return tensors


def _header(file: Path) -> dict[str, Shape]:
    try:
        return read_header(file).shapes
    except CorruptError as error:
        error.hint = "download or copy the file again"
        raise


def _read_one(file: Path, name: str) -> Tensor:
    try:
        with safe_open(file, "pt") as tensors:
            tensor = tensors.get_tensor(name)
    except (SafetensorError, OSError) as error:
        raise CorruptError(
            f"{file} is damaged or truncated.", expected="a safetensors file", found=str(error)
        ) from None
    assert isinstance(tensor, torch.Tensor)
    return tensor


def _shards(index: Path) -> list[Path]:
    """Return the files that an index names, all beside it."""
    names = sorted(set(read_model(_Index, index, "an index of shards").weight_map.values()))
    outside = [name for name in names if Path(name).name != name]
    missing = [name for name in names if not (index.parent / name).is_file()]
    if not names or outside or missing:
        raise CorruptError(
            f"The shards that {index} names are not there.",
            expected="files in the same folder",
            found=_named("outside the folder", outside)
            or _named("missing", missing)
            or "no file names",
            hint="download or copy the folder again",
        )
    return [index.parent / name for name in names]


def _named(what: str, names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f"{what}: {listed:.200}" if listed else ""


def _listing(folder: Path) -> str:
    names = sorted(item.name for item in folder.iterdir())
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "") or "an empty folder"

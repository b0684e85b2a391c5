"""A base from elsewhere: checked, ready to be written as a run; its tensors are still in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from torch import Tensor

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec
from greffe.data.tokenizer import Tokenizer

PretrainedAs = Literal["masked", "causal", "hybrid"]


@dataclass(frozen=True)
class ForeignBase:
    """What every reader of a foreign format returns; sizes, names and shapes fit together."""

    objective: PretrainedAs
    """How it was pretrained."""
    model: ModelSpec
    vocab: int
    heads: dict[str, HeadSpec]
    tensors: Callable[[], Iterator[tuple[str, Tensor]]]
    """Reads all tensors, in single precision and in the order of their names."""
    tokenizer: Tokenizer
    files: list[Path]
    """The files of the weights."""
    parameters: int
    """Of the base, and of its pooler, counted in the files."""
    folded: Mapping[str, int] = field(default_factory=dict)
    """Those that are part of others here, or cut, by what they are."""
    recipe: Literal["small", "lab"] = "small"
    """Whose choices for training suit it, if it is small."""

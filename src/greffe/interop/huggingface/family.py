"""What a family of models declares: how its configuration becomes a recipe, its tensors a base.

A family is one file: it reads and writes config.json, and says of which tensors of the file each
tensor of greffe is made, and how to take it apart again. What is constant for a single text, such
as the token type, is folded into others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from greffe.config.components import HeadSpec
from greffe.config.families import NATIVE
from greffe.config.sections import ModelSpec
from greffe.interop.foreign_base import PretrainedAs
from greffe.interop.huggingface.config import CONFIG_FILE, Config

if TYPE_CHECKING:
    from torch import Tensor

LANGUAGE_HEADS = ("next_token", "masked_token")
Parts = dict[str, "Part"]
"""The parts of a base or a head: the name of each tensor of greffe, and what it is made of."""


@dataclass(frozen=True)
class Part:
    """A tensor of greffe, made of one or several tensors of a file."""

    sources: tuple[str, ...]
    join: Callable[..., Tensor]
    """Makes it from the sources, in their order; must work on the meta device too."""
    split: Callable[[Tensor], Sequence[Tensor]]
    """Takes it apart again: join(*split(tensor)) is the tensor."""


@dataclass(frozen=True)
class ForeignHead:
    """A head that files of a family may bring along."""

    spec: HeadSpec
    parts: Parts
    """Names as in the head's state dict, without its prefix."""
    copies: tuple[str, ...] = ()
    """Tensors that a file may hold as well: they repeat others, such as a tied matrix."""
    other_names: Mapping[str, str] = field(default_factory=dict)
    """For a source that a file may have under one other name only: that name."""


@dataclass(frozen=True)
class Layout:
    """The tensors of a family's files for one configuration."""

    base: Parts
    """Names as in the base's state dict, without `base.`."""
    heads: Mapping[str, ForeignHead] = field(default_factory=dict)
    """By kind; a head whose tensors the file does not hold is left out."""
    ignored: tuple[str, ...] = ()
    """Patterns (fnmatch) of tensors that a file may hold and that greffe has no use for."""
    folded: Mapping[str, int] = field(default_factory=dict)
    """Parameters that are part of others here, by what they are: {"token types": 1536}."""


@dataclass(frozen=True)
class SpecialIds:
    """The special tokens that a config.json names."""

    pad: int
    first: int
    """Before a text."""
    last: int
    """After it."""


class Family(ABC):
    """One architecture. Defining a subclass with a name registers it."""

    registry: ClassVar[dict[str, Family]] = {}
    """All families by name, filled by the import of their modules."""

    name: ClassVar[str] = NATIVE
    """As in model.family, and the name of the recipe that trains it from nothing. One without a
    name of its own is not registered: it is another form of greffe's models."""
    model_types: ClassVar[tuple[str, ...]]
    """As in config.json."""
    objective: ClassVar[Literal["masked", "causal"]]
    """How the base was pretrained; it says how a classifier reads."""
    prefix: ClassVar[str]
    """Of the base's tensors in a file with heads, such as `bert.`; a file without has none."""

    classes: ClassVar[Mapping[str, str]]
    """The class of transformers for each language-model head; "" is that of the base alone."""

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            assert cls.name not in cls.registry, f"two families are called {cls.name!r}"
            cls.registry[cls.name] = cls()

    @abstractmethod
    def model(self, config: Config) -> dict[str, Any]:
        """Return the fields of ModelSpec for a configuration, all that differ from the defaults.

        The context is what the positions allow; the caller may lower it.
        """

    def vocab(self, config: Config) -> int:
        """Return the number of rows of the embedding."""
        return config.integer("vocab_size")

    def pretrained_as(self, config: Config) -> PretrainedAs:
        """Return the kind of the objective that a base was pretrained with."""
        return self.objective

    @abstractmethod
    def choices(self, model: ModelSpec, special: SpecialIds) -> dict[str, Any]:
        """Return the values of config.json that `model` reads, and those that change training."""

    def config(self, model: ModelSpec, vocab: int, special: SpecialIds) -> Config:
        """Return the config.json of a model of this shape, without its class and its labels."""
        shared = {
            "model_type": self.model_types[0],
            "vocab_size": vocab,
            "tie_word_embeddings": model.tied,
            "pad_token_id": special.pad,
            "bos_token_id": special.first,
            "eos_token_id": special.last,
        }
        return Config({**shared, **self.choices(model, special)}, CONFIG_FILE)

    def suits(self, special: SpecialIds) -> bool:
        """Return whether its class works with these special tokens."""
        return True

    @abstractmethod
    def layout(self, model: ModelSpec, config: Config) -> Layout:
        """Return the tensors of files with this configuration, with the prefix."""


def copied(source: str) -> Part:
    """Return a part that is a tensor of the file as it is."""
    return Part((source,), lambda tensor: tensor, lambda tensor: [tensor])


def transposed(source: str) -> Part:
    """Return a part that is a matrix of the file, transposed."""
    return Part((source,), lambda matrix: matrix.t(), lambda matrix: [matrix.t()])


def stacked(*sources: str) -> Part:
    """Return a part that is several tensors of the same shape, one below the other."""

    def join(*tensors: Tensor) -> Tensor:
        import torch

        return torch.cat(tensors)

    return Part(sources, join, lambda tensor: tensor.chunk(len(sources)))


def rotary_stacked(model: ModelSpec, *sources: str) -> Part:
    """Return a part that is queries, keys and values, one below the other, for rotary positions.

    transformers rotates columns i and i + width / 2 of a head together, greffe 2i and 2i + 1: the
    rows of queries and keys are put into another order.
    """

    def join(*tensors: Tensor) -> Tensor:
        import torch

        qkv = torch.cat(tensors)
        rotated, values = torch.split(qkv, [model.width + model.kv_width, model.kv_width])
        halves = rotated.reshape(-1, 2, model.head_width // 2, *rotated.shape[1:])
        return torch.cat((halves.transpose(1, 2).flatten(0, 2), values))

    def split(qkv: Tensor) -> Sequence[Tensor]:
        import torch

        rotated, values = torch.split(qkv, [model.width + model.kv_width, model.kv_width])
        pairs = rotated.reshape(-1, model.head_width // 2, 2, *rotated.shape[1:])
        halves = pairs.transpose(1, 2).flatten(0, 2)
        if len(sources) == 1:
            return [torch.cat((halves, values))]
        return [*torch.split(halves, [model.width, model.kv_width]), values]

    return Part(sources, join, split)


def linear(target: str, source: str, *, bias: bool = True) -> Parts:
    """Return the parts of a linear layer, or of a norm, with the same names in the file."""
    names = ("weight", "bias") if bias else ("weight",)
    return {f"{target}.{name}": copied(f"{source}.{name}") for name in names}


def stacked_linear(target: str, *sources: str, bias: bool = True) -> Parts:
    """Return the parts of a linear layer that is several in the file: query, key and value."""
    names = ("weight", "bias") if bias else ("weight",)
    return {f"{target}.{name}": stacked(*(f"{one}.{name}" for one in sources)) for name in names}


def rotary_linear(target: str, model: ModelSpec, *sources: str) -> Parts:
    """Return the parts of the layer of queries, keys and values of a base with rotary positions."""
    names = ("weight", "bias") if model.linear_bias else ("weight",)
    return {
        f"{target}.{name}": rotary_stacked(model, *(f"{one}.{name}" for one in sources))
        for name in names
    }

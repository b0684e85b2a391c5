"""LoRA in a recipe: which matrices get adapters of which rank.

Knows nothing of torch. The docstring under each field is its help text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator

from greffe.config.bounds import FractionBelowOne, Rank, Rate
from greffe.config.spec import Spec

if TYPE_CHECKING:
    from greffe.config.sections import ModelSpec

Target = Literal["qkv", "out", "expand", "contract"]
"""A matrix of a block: the first two are its attention's, the others its feed-forward layer's."""


def tuple_of_list(value: Any) -> Any:
    """Return a list of TOML as a tuple: recipes are read strictly, and TOML has no tuples."""
    return tuple(value) if isinstance(value, list) else value


class LoraSpec(Spec):
    """Low-rank adapters (LoRA), trained in place of the base's own weights."""

    rank: Rank = 0
    """Rank of the adapters; 0: no LoRA. The base is frozen: only adapters and heads are trained."""
    alpha: Rate = 16.0
    """Adapters are multiplied by alpha / rank."""
    targets: Annotated[tuple[Target, ...], BeforeValidator(tuple_of_list)] = ("qkv", "out")
    """Matrices of each block that get an adapter: qkv (queries, keys and values, one matrix), out,
    expand, contract."""
    dropout: FractionBelowOne = 0.0
    """Dropout of the adapters' inputs."""

    @model_validator(mode="after")
    def _check_targets(self) -> Self:
        if not self.targets or len(set(self.targets)) != len(self.targets):
            raise ValueError(f"targets are one or more different matrices, found {self.targets}")
        return self

    @property
    def scale(self) -> float:
        """What the adapters are multiplied by."""
        return self.alpha / self.rank

    def shapes(self, model: ModelSpec) -> dict[Target, tuple[int, int]]:
        """Return inputs and outputs of each matrix that has an adapter."""
        sizes: dict[Target, tuple[int, int]] = {
            "qkv": (model.width, model.width + 2 * model.kv_width),
            "out": (model.width, model.width),
            "expand": (model.width, model.expanded),
            "contract": (model.feed_forward, model.width),
        }
        return {target: sizes[target] for target in self.targets}

    def check(self, model: ModelSpec) -> None:
        """Raise a ValueError if the adapters do not fit the model."""
        if not self.rank:
            return
        if not model.layers:
            raise ValueError(f"lora.rank = 0 (found {self.rank}): the model has no blocks")
        most = min(min(shape) for shape in self.shapes(model).values())
        if self.rank > most:
            raise ValueError(
                f"lora.rank = {most} or less (found {self.rank}): a matrix of this model has no "
                "higher rank"
            )

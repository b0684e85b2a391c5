"""The families of components: what an objective, a position scheme and a head declare.

Each kind is one file in the family's package, with its spec and its implementation. The types of
the implementations are named here for the type checker only: nothing is imported from above.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from greffe.config.registry import Component

if TYPE_CHECKING:
    from greffe.config.sections import ModelSpec
    from greffe.model.heads.head import Head
    from greffe.model.positions.scheme import PositionScheme

Direction = Literal["causal", "bidirectional"]
Formula = tuple[str, int]
"""A number of parameters: the formula with its numbers, and its value."""


class ObjectiveSpec(Component):
    """What is learned."""

    package: ClassVar[str] = "greffe.objectives"
    directions: ClassVar[tuple[Direction, ...]]
    """How a base can read after learning this."""


class PositionSpec(Component):
    """How a base represents the position of a token."""

    package: ClassVar[str] = "greffe.model.positions"
    is_pairwise: ClassVar[bool] = False
    """Whether it has a number for each pair of positions, not a vector for each position."""
    kept_vectors: ClassVar[int] = 0
    """Vectors as wide as the base that each block keeps for a token because of it, in training."""

    @abstractmethod
    def build(self, model: ModelSpec) -> PositionScheme:
        """Return the scheme, sized for the model."""

    def build_local(self, model: ModelSpec) -> PositionScheme | None:
        """Return the scheme of the blocks with a window, if it is another; it has no weights."""
        return None

    def parameters(self, model: ModelSpec) -> Formula:
        """Return the number of its parameters."""
        return "0", 0

    def check(self, model: ModelSpec) -> None:
        """Raise a ValueError if the scheme cannot be used with this model.

        Keys of the spec that contradict each other are the task of a validator in the spec.
        """


class HeadSpec(Component):
    """What turns hidden states into answers."""

    package: ClassVar[str] = "greffe.model.heads"
    by_piece: ClassVar[tuple[str, ...]] = ()
    """Names of its tensors that have one row for each piece of the vocabulary."""
    is_imported: ClassVar[bool] = False
    """Whether only bases from elsewhere have it."""
    has_small_start: ClassVar[bool] = False
    """Whether its linear layers start from small normal values in post-norm models too."""

    @classmethod
    @abstractmethod
    def for_model(cls, model: ModelSpec) -> Self:
        """Return the head that a recipe with this model would have."""

    @abstractmethod
    def build(self, model: ModelSpec, vocab: int) -> Head:
        """Return the head for a base of this shape and vocabulary."""

    @abstractmethod
    def parameters(self, model: ModelSpec, vocab: int) -> Formula:
        """Return the number of its parameters."""

    @abstractmethod
    def outputs(self, vocab: int) -> int | None:
        """Return the number of scores that it gives; None: it gives a vector."""

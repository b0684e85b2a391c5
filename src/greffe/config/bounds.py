"""Bounds of the numbers that users give: one named type each, for recipes, options and arguments.

A number without an upper bound lets a typo, or the recipe of a stranger, run without end before
anything else can be checked. The bounds are far above any use on one machine; whether a model of
these shapes fits into memory is another question. Knows no recipe.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from annotated_types import Interval, MaxLen

from greffe.errors import RecipeError, quote

# Shapes: several times those of the largest models that have been published.
Width = Annotated[int, Interval(ge=1, le=65_536)]
OptionalWidth = Annotated[int, Interval(ge=0, le=65_536)]
"""0: as wide, or as many, as something else."""
Rank = Annotated[int, Interval(ge=0, le=65_536)]
"""Of a matrix as wide; 0: none."""
FeedForward = Annotated[int, Interval(ge=1, le=4 * 65_536)]
Layers = Annotated[int, Interval(ge=0, le=1_000)]
Levels = Annotated[int, Interval(ge=0, le=1_001)]
"""Levels of tensors that are trained together: the embedding, then block by block."""
Context = Annotated[int, Interval(ge=8, le=131_072)]
OptionalContext = Annotated[int, Interval(ge=0, le=131_072)]
Vocab = Annotated[int, Interval(ge=1, le=1_000_000)]
Classes = Annotated[int, Interval(ge=2, le=100_000)]
"""Every class is a name in the manifest and a column of each prediction."""

# Amounts: more would take longer, or more memory, than any machine has.
Batch = Annotated[int, Interval(ge=1, le=1_000_000)]
PositiveCount = Annotated[int, Interval(ge=1, le=10**9)]
Steps = Annotated[int, Interval(ge=0, le=10**12)]
Evaluations = Annotated[int, Interval(ge=0, le=10**6)]
Trainings = Annotated[int, Interval(ge=1, le=1_000)]
"""Models of a soup, or seeds of a study: each one is a whole training."""
Processes = Annotated[int, Interval(ge=0, le=4_096)]
"""Threads or worker processes; 0: one per core. The largest machines have fewer cores."""
Jobs = Annotated[int, Interval(ge=1, le=4_096)]
"""Trainings side by side, each in a process of its own."""
NewTokens = Annotated[int, Interval(ge=1, le=10**6)]
"""Tokens of one generated text: hours on a laptop."""
TopK = Annotated[int, Interval(ge=0, le=1_000_000)]
"""Tokens to sample from, of a vocabulary; 0: all."""
Shown = Annotated[int, Interval(ge=1, le=10_000)]
"""Answers that are printed for one question."""
Drawn = Annotated[int, Interval(ge=0, le=4_096)]
"""Tokens of a drawing, whose cells are their square; 0: as many as can be read."""

# Random seeds are integers of 63 bits: a TOML integer has no more.
Seed = Annotated[int, Interval(ge=0, le=2**63 - 1)]

# Fractions.
Fraction = Annotated[float, Interval(ge=0, le=1)]
PositiveFraction = Annotated[float, Interval(gt=0, le=1)]
ProperFraction = Annotated[float, Interval(gt=0, lt=1)]
FractionBelowOne = Annotated[float, Interval(ge=0, lt=1)]

# Factors: larger ones overflow single precision. That smaller ones diverge is found in training.
Rate = Annotated[float, Interval(gt=0, le=1e30)]
Weight = Annotated[float, Interval(ge=0, le=1e4)]
Epsilon = Annotated[float, Interval(gt=0, le=1)]
GradientNorm = Annotated[float, Interval(ge=0, le=1e9)]
Wavelength = Annotated[float, Interval(gt=1, le=1e12)]
OptionalWavelength = Annotated[float, Interval(ge=0, le=1e12)]
Temperature = Annotated[float, Interval(ge=0, le=1e4)]
Opset = Annotated[int, Interval(ge=1, le=1000)]
CalibrationTemperature = Annotated[float, Interval(ge=0.05, le=20)]
"""Beyond them nothing is left to fit: all probabilities are 0 or 1, or all are equal."""

# Texts.
Name = Annotated[str, MaxLen(255)]
"""As long as a file's name may be: a recipe is named after its file."""
LONGEST_CHANGE = 100_000
"""Characters of one change: a whole recipe has a few thousand."""


@dataclass(frozen=True)
class Bounds:
    """The numbers that a type allows."""

    number: type[int] | type[float]
    interval: Interval

    @property
    def low(self) -> Any:
        """The lowest number, or the limit that it must exceed."""
        return self.interval.gt if self.interval.ge is None else self.interval.ge

    @property
    def high(self) -> Any:
        """The highest number, or the limit that it must stay below."""
        return self.interval.lt if self.interval.le is None else self.interval.le

    def include(self, value: Any) -> bool:
        """Return whether the value is a number of the right kind within the bounds."""
        kind: Any = numbers.Integral if self.number is int else numbers.Real
        if not isinstance(value, kind) or isinstance(value, bool):
            return False
        is_limit = (value == self.low and self.interval.ge is None) or (
            value == self.high and self.interval.le is None
        )
        return self.low <= value <= self.high and not is_limit  # NaN is not between them

    def __str__(self) -> str:
        kind = "an integer" if self.number is int else "a number"
        start = "above" if self.interval.ge is None else "at least"
        end = "below" if self.interval.le is None else "at most"
        return f"{kind}, {start} {self.low:,} and {end} {self.high:,}"


def bounds_of(kind: Any) -> Bounds | None:
    """Return the bounds of one of the types above, alone or in a union; None if it has none."""
    for option in get_args(kind) if get_origin(kind) in (Union, UnionType) else [kind]:
        match get_args(option) if get_origin(option) is Annotated else ():
            case (number, Interval() as interval, *_):
                return Bounds(number, interval)
    return None


def check_number(name: str, value: object, kind: Any, *, example: str) -> None:
    """Raise a RecipeError unless the value is a number within the bounds of its type."""
    bounds = bounds_of(kind)
    assert bounds is not None
    if not bounds.include(value):
        raise RecipeError(
            f"Invalid {name}: {quote(value)}.",
            expected=str(bounds),
            found=quote(value),
            hint=f"for example {example}",
        )

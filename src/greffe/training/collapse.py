"""Whether the training of a classifier collapsed: it learned the class frequencies and no more.

Such a model gives nearly every text the same answer, although its loss is finite. The usual cause
is a learning rate that is too high. Knows no model and no files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from greffe.config.bounds import Rate
from greffe.config.recorded import Count
from greffe.config.spec import Spec

LEAST_STEPS = 50
"""Trainings with fewer steps are not judged: they have had no time to learn."""
LAST_PART = 0.25
"""Fraction of the steps, the last ones, whose loss counts."""
MARGIN = 0.02
"""How far below that of the class frequencies a loss is that has fallen, as a fraction of it."""
DEVIATIONS = 2.0
"""Standard errors above the most frequent class within which an accuracy is no better."""


class LoggedLoss(Spec):
    """The training loss of a step that was logged."""

    step: Count
    """Steps made, with this one."""
    loss: float


class Restarted(Spec):
    """What became of a fine-tuning that collapsed and was started again."""

    restarts: Count
    """How many trainings were started again; of a soup, those of all its models."""
    lr: Rate
    """Peak learning rate of the training that is kept; of a soup, the lowest after a restart."""
    collapsed: Count = 0
    """How many models collapsed with the lowest rate too."""

    @property
    def figures(self) -> dict[str, int | float]:
        """The same under the names that a run's result has for it."""
        return {
            "restarts": self.restarts,
            "restarted_lr": self.lr,
            "collapsed": self.collapsed,
        }

    def describe(self) -> str:
        """Return the restarts, the rate and whether they helped, for a line of progress."""
        times = "once" if self.restarts == 1 else f"{self.restarts} times"
        outcome = ", collapsed" if self.collapsed else ""
        return f"restarted {times}, lr {self.lr:.2g}{outcome}"

    @classmethod
    def of_result(cls, result: Mapping[str, object]) -> Self | None:
        """Return what a run's result says of restarts; None if there was none."""
        if "restarts" not in result:
            return None
        return cls.model_validate(
            {
                "restarts": result["restarts"],
                "lr": result.get("restarted_lr"),
                "collapsed": result.get("collapsed"),
            }
        )

    @classmethod
    def of_soup(cls, models: Iterable[Self | None]) -> Self | None:
        """Return the sum over the models of a soup; None if none was restarted."""
        found = [one for one in models if one is not None]
        if not found:
            return None
        return cls(
            restarts=sum(one.restarts for one in found),
            lr=min(one.lr for one in found),
            collapsed=sum(one.collapsed for one in found),
        )


@dataclass(frozen=True)
class Ending:
    """How a training ended, and what the class frequencies alone would give."""

    steps: int
    loss: float
    """Mean training loss over the last part of the steps."""
    frequencies: float
    """The same for a model that always predicts the class frequencies, on the same texts."""
    accuracy: float
    """On the validation texts, of the weights that are kept."""
    most_frequent: float
    """Fraction of the most frequent class among the validation texts."""
    texts: int
    """Number of validation texts."""

    @property
    def is_collapsed(self) -> bool:
        """Whether the loss has not fallen and the accuracy is no better than that of one class.

        One alone does not mean a collapse: a model may learn a task that gives no better accuracy,
        and the best weights of a training may be earlier ones.
        """
        variance = self.most_frequent * (1.0 - self.most_frequent) / self.texts
        return (
            self.steps >= LEAST_STEPS
            and self.loss > (1.0 - MARGIN) * self.frequencies
            and self.accuracy <= self.most_frequent + DEVIATIONS * math.sqrt(variance)
        )


def last_losses(
    losses: Sequence[LoggedLoss], frequencies: Callable[[int], float]
) -> tuple[float, float]:
    """Return the mean loss of the last part of a training, and that of the class frequencies.

    `frequencies(step)` is the loss of always predicting them on the texts of a step, from 0. The
    two are means over the same texts, so that their difference does not depend on which these are.
    """
    if not losses:  # of a training that an earlier version began
        return 0.0, 0.0
    first = (1.0 - LAST_PART) * losses[-1].step
    last = [one for one in losses if one.step > first]
    return (
        math.fsum(one.loss for one in last) / len(last),
        math.fsum(frequencies(one.step - 1) for one in last) / len(last),
    )

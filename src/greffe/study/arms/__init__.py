"""The kinds of arms, one module each; importing the package registers them all."""

from __future__ import annotations

from greffe.config.registry import import_modules
from greffe.study.arms.arm import ARMS, ArmOptions, Cell, DerivedArm, PlannedArm, TrainedArm

import_modules(__name__, __path__)
_sorted = sorted(ARMS.items(), key=lambda item: item[1].order)
ARMS.clear()
ARMS.update(_sorted)

__all__ = ["ARMS", "ArmOptions", "Cell", "DerivedArm", "PlannedArm", "TrainedArm"]

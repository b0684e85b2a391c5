"""The checks of labelled data, one module each; importing the package registers them all."""

from __future__ import annotations

from greffe.config.registry import import_modules
from greffe.doctor.checks.check import CHECKS, Check, LabelledData

import_modules(__name__, __path__)
_sorted = sorted(CHECKS.items(), key=lambda item: item[1].order)
CHECKS.clear()
CHECKS.update(_sorted)

__all__ = ["CHECKS", "Check", "LabelledData"]

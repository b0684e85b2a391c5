"""Experiment trackers, one module each; importing the package registers them all.

None of them imports its library before a run is tracked.
"""

from __future__ import annotations

from greffe.config.registry import import_modules
from greffe.pipelines.tracking.tracked_run import check_trackers, tracked
from greffe.pipelines.tracking.tracker import TRACKERS, Line, RunFacts, Tracker

import_modules(__name__, __path__)

__all__ = ["TRACKERS", "Line", "RunFacts", "Tracker", "check_trackers", "tracked"]

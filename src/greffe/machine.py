"""What this machine has. Knows nothing of what it is used for."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores that this process may use: fewer than the machine has, in a container."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

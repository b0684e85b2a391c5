"""Loading without garbage collection, and what it leaves behind."""

from __future__ import annotations

import gc
import subprocess
import sys

from greffe.cli.loading import loading


def test_no_garbage_is_looked_for_while_torch_is_loaded() -> None:
    script = (
        "import gc\n"
        "from greffe.cli.loading import loading\n"
        "with loading():\n"
        "    inside = gc.isenabled()\n"
        "    import torch\n"
        "print(inside, gc.isenabled(), gc.get_freeze_count() > 10_000)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "False True True\n", done.stderr


def test_nothing_changes_once_torch_is_loaded() -> None:
    frozen = gc.get_freeze_count()
    with loading():
        assert gc.isenabled()
    assert gc.get_freeze_count() == frozen

"""Loading what a command needs quickly: modules make a million objects and no garbage."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from greffe.config.options import Labelling

if TYPE_CHECKING:
    from greffe.api.exported import ExportedModel
    from greffe.api.runs import Run


@contextmanager
def loading() -> Iterator[None]:
    """Look for no garbage while torch is imported in this block, nor later in what it made."""
    if "torch" in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def load_classifier(path: Path, computing: Labelling) -> Run | ExportedModel:
    """Open what labels texts; torch is set up for a run, and not imported for an exported model."""
    with loading():
        from greffe.api.loading import load
        from greffe.interop.export_manifest import is_export

        if not is_export(path):
            from greffe.training.compute import set_up_compute

            set_up_compute()
    return load(path, computing=computing)

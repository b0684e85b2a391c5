"""The shipped French sentences in three registers: soutenu, courant, familier.

Their origin and limits are described in registers_fr/README.md.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def registers_folder() -> Path:
    """Return the folder with {train,valid,test}.tsv, one `register<TAB>sentence` per line."""
    return Path(str(resources.files("greffe.samples") / "registers_fr"))

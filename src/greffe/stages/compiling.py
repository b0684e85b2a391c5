"""torch.compile where there is a compiler; one line and eager execution where there is none."""

from __future__ import annotations

import os
import shutil
import sys

from greffe.model.model import Model
from greffe.progress import notice


def compile_model(model: Model) -> bool:
    """Compile the base in place, so that the names of its weights never change."""
    # torch asks for this very one and looks for no other.
    compiler = os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")
    if shutil.which(compiler) is None:
        notice(f"no C++ compiler ({compiler}) found: training runs without torch.compile")
        return False
    model.base.compile(dynamic=True)
    return True

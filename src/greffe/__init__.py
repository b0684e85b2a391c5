"""greffe: grow a small language model on your own text, graft a classifier onto it.

Names are loaded when they are first used, so that `import greffe` and `greffe --help` are quick.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from greffe.machine import limit_openmp_spinning

if TYPE_CHECKING:
    from greffe.api import Run, finetune, load, prepare, pretrain
    from greffe.config.options import Reading
    from greffe.config.recipe import Recipe
    from greffe.config.recipe_files import load_recipe
    from greffe.data.corpus import Corpus
    from greffe.data.tables import Example
    from greffe.data.tokenizer import Tokenizer
    from greffe.errors import GreffeError
    from greffe.evaluation.metrics import Evaluation
    from greffe.inference.fill import Filling
    from greffe.inference.predict import Prediction
    from greffe.joining import ensemble, linear
    from greffe.studies import Study, compare, doctor, report

__version__ = "0.2.0"

limit_openmp_spinning()

__all__ = [
    "Corpus",
    "Evaluation",
    "Example",
    "Filling",
    "GreffeError",
    "Prediction",
    "Reading",
    "Recipe",
    "Run",
    "Study",
    "Tokenizer",
    "compare",
    "doctor",
    "ensemble",
    "finetune",
    "linear",
    "load",
    "load_recipe",
    "prepare",
    "pretrain",
    "report",
]

_HOMES = {
    "Corpus": "greffe.data.corpus",
    "Evaluation": "greffe.evaluation.metrics",
    "Example": "greffe.data.tables",
    "Filling": "greffe.inference.fill",
    "GreffeError": "greffe.errors",
    "Prediction": "greffe.inference.predict",
    "Reading": "greffe.config.options",
    "Recipe": "greffe.config.recipe",
    "Run": "greffe.api",
    "Study": "greffe.studies",
    "Tokenizer": "greffe.data.tokenizer",
    "ensemble": "greffe.joining",
    "compare": "greffe.studies",
    "doctor": "greffe.studies",
    "finetune": "greffe.api",
    "load": "greffe.api",
    "load_recipe": "greffe.config.recipe_files",
    "prepare": "greffe.api",
    "pretrain": "greffe.api",
    "report": "greffe.studies",
    "linear": "greffe.joining",
}


class _Package(ModuleType):
    """A package whose public names win over subpackages of the same name, such as `report`."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _HOMES and isinstance(value, ModuleType):
            return  # the import system binds greffe.report after it has loaded it
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'greffe' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

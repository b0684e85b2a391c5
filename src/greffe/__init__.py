"""greffe: pretrain a small language model on your own text, graft a classifier onto it.

Public names are listed in `__init__.pyi` and loaded when they are first used, so that
`import greffe` and `greffe --help` are quick.
"""

import sys
from types import ModuleType

import lazy_loader

from greffe.machine import limit_kernel_cache, limit_openmp_spinning

__version__ = "0.2.0"

limit_openmp_spinning()
limit_kernel_cache()

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


class _Package(ModuleType):
    """A package whose public names win over subpackages of the same name, such as `report`."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in __all__ and isinstance(value, ModuleType):
            return  # the import system binds greffe.report after it has loaded it
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

"""Describe the machine and measure the current peak of its matrix products."""

from __future__ import annotations

import platform
import re
import time
from pathlib import Path
from statistics import median

import torch

PRODUCTS = 3
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


class Peak:
    """The peak: fp32 products of two square matrices into preallocated memory."""

    def __init__(self, size: int) -> None:
        source = torch.Generator().manual_seed(0)
        self.left = torch.randn(size, size, generator=source)
        self.right = torch.randn(size, size, generator=source)
        self.out = torch.empty(size, size)
        self.operations = 2 * size**3

    def sample(self) -> float:
        """Return operations per second: the median of a few products at the current clock rate."""
        taken = []
        for _ in range(PRODUCTS):
            began = time.perf_counter()
            torch.mm(self.left, self.right, out=self.out)
            taken.append(time.perf_counter() - began)
        return self.operations / median(taken)


def describe(threads: int) -> dict[str, str]:
    """Return the properties of the machine that the results depend on."""
    import psutil

    from greffe.machine import cores

    return {
        "processor": _processor(),
        "cores": f"{cores()} usable, {psutil.cpu_count()} in the machine",
        "threads": str(threads),
        "caches": _caches(),
        "memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "blas": _blas(torch.__config__.show()),
    }


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", information.read_text(), re.MULTILINE)
        if found:
            return found[1]
    return platform.processor() or platform.machine()


def _caches() -> str:
    """Return the caches of the first core: `L1d 48K, L1i 32K, …`."""
    parts = []
    for folder in sorted(_CACHES.glob("index*")):
        level, kind, size = (
            (folder / name).read_text().strip() for name in ("level", "type", "size")
        )
        letter = {"Data": "d", "Instruction": "i"}.get(kind, "")
        parts.append(f"L{level}{letter} {size}")
    return ", ".join(parts) or "unknown"


def _blas(build: str) -> str:
    """Return `mkl 2024.2, vectors AVX512` from torch's build description."""
    library = re.search(r"BLAS_INFO=(\w+)", build)
    version = re.search(r"Math Kernel Library Version (\S+?)-", build)
    vectors = re.search(r"CPU capability usage: (\S+)", build)
    name = library[1] if library else "unknown"
    if version:
        name += f" {version[1]}"
    return f"{name}, vectors {vectors[1]}" if vectors else name

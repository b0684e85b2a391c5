"""Describe the machine and measure the current peak of its matrix products."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import torch

from benchmarks.settings import Precision

PRODUCTS = 3
FLAGS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "avx512_fp16", "amx_bf16", "amx_int8")
"""Units for matrix products, as Linux names them."""
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


class Peak:
    """The peak: products of two square matrices in one precision into preallocated memory."""

    def __init__(self, size: int, precision: Precision) -> None:
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        source = torch.Generator().manual_seed(0)
        self.left = torch.randn(size, size, generator=source).to(dtype)
        self.right = torch.randn(size, size, generator=source).to(dtype)
        self.out = torch.empty(size, size, dtype=dtype)
        self.operations = 2 * size**3

    def sample(self) -> float:
        """Return operations per second: the median of a few products at the current clock rate."""
        taken = []
        for _ in range(PRODUCTS):
            began = time.perf_counter()
            torch.mm(self.left, self.right, out=self.out)
            taken.append(time.perf_counter() - began)
        return self.operations / median(taken)


def bf16_speed(threads: int) -> float:
    """Return the speed of the small recipe's matrix products in bf16 relative to fp32."""
    from greffe.config.recipe_files import load_recipe
    from greffe.model.arithmetic import matrix_products
    from greffe.training.device import measured_speed

    torch.set_num_threads(threads)
    recipe = load_recipe("small")
    tokens = recipe.train.batch * recipe.model.context
    vocab = recipe.tokenizer.vocab
    products = matrix_products(recipe.model, tokens, vocab=vocab, predicted=tokens // 7)
    return measured_speed(products)


def describe(threads: int) -> dict[str, str]:
    """Return the properties of the machine that the results depend on."""
    import psutil

    from greffe.machine import cores

    return {
        "processor": _processor(),
        "units": _units(),
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


def _units() -> str:
    """Return the processor's units for matrix products, as far as the system names them."""
    information = Path("/proc/cpuinfo")
    found = information.read_text().split() if information.exists() else []
    return ", ".join(flag for flag in FLAGS if flag in found) or "unknown"


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


def slug(machine: Mapping[str, str]) -> str:
    """Return a file name for results of such machines: processor and units."""
    words = f"{machine['processor']} {machine['units']}".lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")

"""Cores and memory of this machine, processes of torchrun, settings of the C library and OpenMP.

Knows how much memory there is, not what it is needed for.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from greffe.errors import GreffeError, InputError, OutOfMemoryError, quote

LACK_OF_MEMORY = (
    "allocate memory",  # torch
    "out of memory",  # torch on a GPU
    "could not create a primitive",  # oneDNN, the kernels of torch
    "can't start new thread",  # Python
    "ThreadPoolBuildError",  # tokenizers
    "failed to map segment from shared object",  # the system's loader
)
"""Parts of the messages with which a library says that memory ran out."""

MOST_RANKS = 4_096
"""Processes of one training; its gradients are summed between all of them in each step."""

Item = TypeVar("Item")

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's numbers for mallopt
_NEVER = 2**30
_LARGEST = 32 * 2**20  # bytes: keeping larger blocks would fragment the heap
_SPIN_COUNT = "30000"  # loop iterations, about 0.1 ms
_KERNELS = "128"  # a step of the small recipe with two objectives uses 50


def cores() -> int:
    """Return the number of cores this process may use, which a container can restrict."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def compute_threads(shared_by: int = 1) -> int:
    """Return OMP_NUM_THREADS, else the cores divided by as many processes as share them."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    is_number = given.isdecimal() and len(given) < 10
    return (int(given) if is_number else 0) or max(1, cores() // shared_by)


# --- torchrun -------------------------------------------------------------------------------------


def local_ranks() -> int:
    """Return the number of processes that train together on this machine."""
    return _variable("LOCAL_WORLD_SIZE", "1", range(1, MOST_RANKS + 1))


def local_rank() -> int:
    """Return the number of this process among those of this machine."""
    return _variable("LOCAL_RANK", "0", range(MOST_RANKS))


def rank_and_ranks() -> tuple[int, int]:
    """Return the rank of this process, and how many processes train together on all machines."""
    ranks = _variable("WORLD_SIZE", "1", range(1, MOST_RANKS + 1))
    return _variable("RANK", "0", range(ranks)), ranks


def reports_errors() -> bool:
    """Return whether this process prints an error that all of them find: the first one does."""
    try:
        return rank_and_ranks()[0] == 0
    except InputError:
        return True


def _variable(name: str, default: str, allowed: range) -> int:
    """Return an integer that torchrun sets in the environment."""
    text = os.environ.get(name, default)
    if text.isascii() and text.isdecimal() and len(text) < 10 and int(text) in allowed:
        return int(text)
    raise InputError(
        f"The environment variable {name} cannot be used.",
        expected=f"an integer from {allowed[0]} to {allowed[-1]}, as torchrun sets it",
        found=quote(text),
        hint=f"unset {name}, or start the command with torchrun",
    )


# --- the C library and OpenMP ---------------------------------------------------------------------


def keep_freed_memory() -> bool:
    """Make the C library keep freed memory for the next tensor; return whether it could be set.

    A training step frees and allocates the same large tensors again and again. If each is returned
    to the system, its pages are cleared again: thousands of page faults per step.
    """
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settled = [mallopt(_MMAP_THRESHOLD, _LARGEST), mallopt(_TRIM_THRESHOLD, _NEVER)]
    return all(settled)


def limit_openmp_spinning() -> None:
    """Shorten OpenMP's busy-waiting at barriers; must be called before torch is imported.

    The default is about a millisecond. Next to another busy process, the waiting thread then keeps
    the core that the other threads need: training runs at a fifth of its speed instead of half.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", _SPIN_COUNT)


def limit_kernel_cache() -> None:
    """Let oneDNN keep fewer kernels; must be called before torch is imported.

    It builds one for each shape of a bf16 product and keeps 1,024. Texts of different lengths come
    in ever new shapes, of which each took 9 MB in a base of MiniLM's size.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", _KERNELS)


def release_memory() -> None:
    """Return freed memory to the system where the C library supports it."""
    gc.collect()
    if sys.platform.startswith("linux"):
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


# --- available memory -----------------------------------------------------------------------------


def available_memory() -> int | None:
    """Return how many bytes this process can still allocate; None if the system does not say.

    The smallest of what the system has left, swap included, what the process's control group may
    use, and what the limits of the process leave.
    """
    known = [_system_memory(), _group_memory(), *_process_limits()]
    return min((amount for amount in known if amount is not None), default=None)


def _system_memory() -> int | None:
    fields = _fields(Path("/proc/meminfo"), ":")
    if "MemAvailable" in fields:
        return 1024 * (fields["MemAvailable"] + fields.get("SwapFree", 0))
    try:  # elsewhere all memory, which is more than what is available
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _group_memory() -> int | None:
    """Return what is left of the limits of the control groups that the process belongs to."""
    left = []
    for folder in _control_groups():
        for limit, used, cache in (
            ("memory.max", "memory.current", "file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache"),
        ):
            most, current = _number(folder / limit), _number(folder / used)
            if most is not None and current is not None:
                # Cached files count as used, and make room when memory is needed.
                reclaimable = _fields(folder / "memory.stat").get(cache, 0)
                left.append(max(0, most - current + reclaimable))
    return min(left, default=None)


def _control_groups(
    listing: Path = Path("/proc/self/cgroup"), mount: Path = Path("/sys/fs/cgroup")
) -> list[Path]:
    """Return the folders of the process's control groups, of version 1 and 2, and their parents."""
    folders = [mount, mount / "memory"]
    for line in _lines(listing):
        match line.split(":", 2):
            case [_, "" | "memory" as controllers, path]:
                group = Path(path.lstrip("/"))
                folders += [mount / controllers / part for part in (group, *group.parents)]
    return list(dict.fromkeys(folders))


def _process_limits() -> list[int]:
    """Return what is left of the limits on address space and data (`ulimit -v`, `ulimit -d`)."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    used = _fields(Path("/proc/self/status"), ":")
    left = []
    for kind, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            left.append(max(0, limit - 1024 * used.get(name, 0)))
    return left


def _number(file: Path) -> int | None:
    """Return the number in a file of the kernel; None without the file or a number (`max`)."""
    text = "".join(_lines(file)[:1]).strip()
    return int(text) if text.isdecimal() else None


def _fields(file: Path, separator: str = " ") -> dict[str, int]:
    """Return the lines `name number` of a file of the kernel."""
    pairs = (line.partition(separator) for line in _lines(file))
    numbers = ((name, rest.split()) for name, _, rest in pairs)
    return {name: int(words[0]) for name, words in numbers if words and words[0].isdecimal()}


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn what libraries raise inside the block when memory runs out into an OutOfMemoryError."""
    try:
        yield
    except GreffeError:
        raise
    except BaseException as error:  # a panic of a Rust library is no Exception
        if not _lacks_memory(error):
            raise
        raise OutOfMemoryError(
            "Out of memory.",
            found=str(error) or "no more memory",
            hint="use a smaller train.batch or model, or --set train.accumulation=4",
        ) from error


def guard_memory(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items; memory that runs out on the way is an OutOfMemoryError."""
    with memory_errors():
        yield from items


def _lacks_memory(error: BaseException) -> bool:
    """Return whether an error means that memory ran out; most libraries have no class for it."""
    return isinstance(error, MemoryError) or any(text in str(error) for text in LACK_OF_MEMORY)


# --- memory in use --------------------------------------------------------------------------------


@dataclass
class Memory:
    """Peak resident memory in bytes; None if the system does not report it."""

    peak: int | None = None


@contextmanager
def measure_peak_memory() -> Iterator[Memory]:
    """Measure the peak resident memory inside the block; available after the block, on Linux.

    Memory freed before the block is returned to the system first, so that it does not count.
    """
    release_memory()
    memory = Memory()
    counter, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    try:
        counter.write_text("5")
    except OSError:
        yield memory
        return
    yield memory
    for line in status.read_text().splitlines():
        if line.startswith("VmHWM:"):
            memory.peak = int(line.split()[1]) * 1024


def description() -> dict[str, str | int]:
    """Return the machine's description for published measurements."""
    import platform

    return {"system": platform.system(), "processor": platform.machine(), "cores": cores()}

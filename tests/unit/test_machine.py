"""Cores, memory that is kept or measured, and OpenMP."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import greffe
from greffe import machine
from greffe.errors import GreffeError, InputError, OutOfMemoryError
from greffe.machine import (
    cores,
    keep_freed_memory,
    limit_kernel_cache,
    limit_openmp_spinning,
)

COUNT_FAULTS = """
import resource
import torch
from greffe.machine import keep_freed_memory

def faults(times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        some = [torch.empty(6 * 2**20).fill_(1.0) for _ in range(4)]  # 24 MB each
        del some
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

torch.set_num_threads(1)
without = faults(20)
is_kept = keep_freed_memory()
faults(20)  # the first ones leave gaps too small for the next
print(is_kept, without, faults(20))
"""


def test_cores_are_those_this_process_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_freed_memory_is_kept_on_linux_only(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(ctypes, "CDLL", None)
    assert keep_freed_memory() is False


def test_a_c_library_without_mallopt_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert keep_freed_memory() is False


def test_kept_memory_causes_few_page_faults() -> None:
    """Measured in another process: the setting cannot be undone."""
    found = subprocess.run(
        [sys.executable, "-c", COUNT_FAULTS],
        env={"PYTHONPATH": str(Path(greffe.__file__).parents[1])},
        check=True,
        capture_output=True,
        text=True,
    )
    is_kept, without, kept = found.stdout.split()
    assert is_kept == "True"
    assert int(without) >= 20
    assert 10 * int(kept) <= int(without), found.stdout


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("GOMP_SPINCOUNT", limit_openmp_spinning),
        ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", limit_kernel_cache),
    ],
)
def test_a_setting_of_the_user_is_kept(
    name: str, limit: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(name, raising=False)
    limit()
    assert os.environ[name].isdigit()
    monkeypatch.setenv(name, "7")
    limit()
    assert os.environ[name] == "7"


def test_peak_memory_is_measured_per_block() -> None:
    with machine.measure_peak_memory() as large:
        block = bytearray(64 << 20)
        block[:: 1 << 12] = b"x" * len(block[:: 1 << 12])
        del block
    with machine.measure_peak_memory() as small:
        pass
    if not sys.platform.startswith("linux"):
        assert large.peak is None
        return
    assert large.peak is not None
    assert small.peak is not None
    assert large.peak - small.peak > 32 << 20


# --- available memory -----------------------------------------------------------------------------


def test_available_memory_is_known_here() -> None:
    found = machine.available_memory()
    assert found is not None and found > 0


def test_available_memory_is_the_smallest_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_system_memory", lambda: 300)
    monkeypatch.setattr(machine, "_group_memory", lambda: None)
    monkeypatch.setattr(machine, "_process_limits", lambda: [200, 400])
    assert machine.available_memory() == 200
    monkeypatch.setattr(machine, "_system_memory", lambda: None)
    monkeypatch.setattr(machine, "_process_limits", list)
    assert machine.available_memory() is None


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"memory.max": "1000\n", "memory.current": "700\n", "memory.stat": "file 50\n"}, 350),
        ({"memory.max": "max\n", "memory.current": "700\n"}, None),
        ({"memory.max": "100\n", "memory.current": "700\n"}, 0),
        (
            {
                "memory.limit_in_bytes": "1000",
                "memory.usage_in_bytes": "600",
                "memory.stat": "total_cache 100\nother x\n",
            },
            500,
        ),
        ({}, None),
    ],
    ids=["version 2", "no limit", "above the limit", "version 1", "no files"],
)
def test_a_control_group_limits_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, str], left: int | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(machine, "_control_groups", lambda: [tmp_path])
    assert machine._group_memory() == left


def test_a_control_group_is_found_with_its_parents(tmp_path: Path) -> None:
    listing = tmp_path / "cgroup"
    listing.write_text("4:memory:/a/b\n2:cpu:/c\n0::/user/app\ngarbage\n")
    found = machine._control_groups(listing, tmp_path)
    expected = {"memory/a/b", "memory/a", "memory", "user/app", "user", "."}
    assert {str(folder.relative_to(tmp_path)) for folder in found} == expected


def test_a_limit_on_the_address_space_counts() -> None:
    script = "from greffe.machine import available_memory; print(available_memory())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(Path(greffe.__file__).parents[1])},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)),
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(done.stdout) < 1 << 29


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_a_lack_of_memory_is_an_error_of_ours(error: Exception) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise error

    with pytest.raises(OutOfMemoryError) as caught, machine.memory_errors():
        raise error
    assert caught.value.__cause__ is error
    given = machine.guard_memory(items())
    assert next(given) == 1
    with pytest.raises(OutOfMemoryError):
        next(given)


@pytest.mark.parametrize(
    "error", [RuntimeError("shapes differ"), GreffeError("can't allocate memory"), KeyError("a")]
)
def test_other_errors_stay_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, machine.memory_errors():
        raise error
    assert caught.value is error


def test_an_allocation_that_fails_in_torch_or_numpy_is_recognized() -> None:
    for library in (torch, np):
        with pytest.raises(OutOfMemoryError), machine.memory_errors():
            library.empty(1 << 50, dtype=library.uint8)


@pytest.mark.parametrize("value", ["", "abc", "0", "-1", "1.5", "٢", "1" * 5_000])
@pytest.mark.parametrize("name", ["WORLD_SIZE", "LOCAL_WORLD_SIZE"])
def test_a_number_of_processes_is_checked(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=f"variable {name} cannot"):
        machine.rank_and_ranks() if name == "WORLD_SIZE" else machine.local_ranks()


@pytest.mark.parametrize("rank", ["x", "-1", "2"])
def test_a_rank_is_one_of_the_processes_and_else_an_error_that_is_printed(
    monkeypatch: pytest.MonkeyPatch, rank: str
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert machine.rank_and_ranks() == (1, 2) and not machine.reports_errors()
    monkeypatch.setenv("RANK", rank)
    with pytest.raises(InputError, match="variable RANK cannot"):
        machine.rank_and_ranks()
    assert machine.reports_errors()

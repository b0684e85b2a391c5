"""Cores, memory that is kept or measured, and OpenMP."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

import greffe
from greffe import machine
from greffe.machine import cores, keep_freed_memory, limit_openmp_spinning

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


def test_a_spin_count_of_the_user_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    limit_openmp_spinning()
    assert os.environ["GOMP_SPINCOUNT"].isdigit()
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    limit_openmp_spinning()
    assert os.environ["GOMP_SPINCOUNT"] == "7"


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

"""Threads and memory of a process; torch.compile where there is a compiler, and eager without."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from greffe.config.sections import ModelSpec
from greffe.errors import RecipeError
from greffe.machine import cores
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model, build_model
from greffe.training import compute
from greffe.training.compute import (
    compile_and_try,
    compile_if_faster,
    compile_model,
    set_up_compute,
)


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch):
    """Neither threads nor the C library's settings outlive a test."""
    monkeypatch.setattr(compute, "keep_freed_memory", lambda: True)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_threads_are_given_or_from_the_environment_or_the_cores_divided_by_ranks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert set_up_compute(2) == 2 == torch.get_num_threads()
    assert set_up_compute(0) == 1 == torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert set_up_compute(0) == cores() == torch.get_num_threads()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1000")
    assert set_up_compute() == 1 == torch.get_num_threads()


@pytest.mark.parametrize("value", ["", "0", "many", "2,1"])
def test_an_invalid_number_of_threads_is_ignored(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert set_up_compute() == cores()


def test_freed_memory_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(compute, "keep_freed_memory", lambda: calls.append(True))
    set_up_compute(1)
    assert calls == [True]


# --- torch.compile ------------------------------------------------------------------------------


@pytest.fixture
def model() -> Model:
    spec = ModelSpec(width=8, layers=1, heads=1, feed_forward=8, context=8)
    return build_model(spec, 300, {"next_token": NextTokenHead()}, seed=0)


@pytest.fixture
def compiled(model: Model, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the base's own compile() was called with; nothing is really compiled."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(model.base, "compile", lambda **choices: calls.append(choices))
    return calls


def install(folder: Path, name: str) -> None:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize("chosen", [None, "no-such-compiler"])
def test_without_a_compiler_one_line_and_eager(
    model: Model,
    compiled: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    chosen: str | None,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    if chosen:
        install(tmp_path, "g++")  # torch would not use it
        monkeypatch.setenv("CXX", chosen)
    assert not compile_model(model)
    assert compiled == []
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1
    assert (chosen or "++") in captured.err and "without torch.compile" in captured.err
    ids = torch.tensor([[0, 9, 2]])
    assert model(ids, "next_token", causal=True).shape == (1, 3, 300)


def test_with_a_compiler_the_base_is_compiled_in_place(
    model: Model,
    compiled: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    install(tmp_path, "my-compiler")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "my-compiler")
    names = list(model.state_dict())
    assert compile_model(model)
    assert len(compiled) == 1
    assert list(model.state_dict()) == names
    assert capsys.readouterr().err == ""


def test_a_gpu_needs_no_compiler_for_a_cpu(
    model: Model, compiled: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    model.to("meta")
    assert compile_model(model)
    assert len(compiled) == 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only work moves: `clock[0]` is the time."""
    now = [0.0]
    monkeypatch.setattr(compute.time, "perf_counter", lambda: now[0])
    return now


def pretend_to_compile(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a compiler, and compile() leaves its mark as torch does."""
    monkeypatch.setattr(compute.shutil, "which", lambda name: name)
    monkeypatch.setattr(
        model.base,
        "compile",
        lambda **_: setattr(model.base, "_compiled_call_impl", type(model.base).forward),
    )


@pytest.mark.parametrize(("with_it", "kept"), [(0.5, True), (0.99, False), (1.5, False)])
def test_the_faster_option_is_used_and_reported(
    model: Model,
    clock: list[float],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    with_it: float,
    kept: bool,
) -> None:
    pretend_to_compile(model, monkeypatch)

    def work() -> None:
        clock[0] += with_it if model.base._compiled_call_impl is not None else 1.0

    assert compile_if_faster(model, work) is kept
    assert (model.base._compiled_call_impl is not None) is kept
    output = capsys.readouterr().err
    assert f"torch.compile {'on' if kept else 'off'}: {with_it * 1e3:.0f} ms" in output


@pytest.mark.parametrize("compile_", [compile_if_faster, compile_and_try])
def test_a_failing_compiler_is_reported_and_not_used(
    model: Model,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    compile_: Callable[[Model, Callable[[], None]], bool],
) -> None:
    pretend_to_compile(model, monkeypatch)

    def work() -> None:
        if model.base._compiled_call_impl is not None:
            raise RuntimeError("no such register\nand a long story")

    assert not compile_(model, work)
    assert model.base._compiled_call_impl is None
    assert "without it: no such register\n" in capsys.readouterr().err
    ids = torch.tensor([[0, 9, 2]])
    assert model(ids, "next_token", causal=True).shape == (1, 3, 300)


def test_more_threads_than_a_machine_can_start_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    with pytest.raises(RecipeError, match="too many") as caught:
        set_up_compute(64 * cores() + 1)
    assert f"{cores()} cores" in str(caught.value.found)
    monkeypatch.setenv("OMP_NUM_THREADS", "1000000")
    with pytest.raises(RecipeError, match="too many"):
        set_up_compute()
    assert torch.get_num_threads() == before

"""Compiled where there is a compiler; one line and eager execution where there is none."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
import torch

from greffe.config import ModelSpec, NextTokenHead
from greffe.model.model import Model, build_model
from greffe.stages.compiling import compile_model


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

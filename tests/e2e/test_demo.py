"""The demo from its first word to its verdict, with few seeds; and once more, reusing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from greffe import demo as demo_module
from greffe.demo import demo


@pytest.mark.slow
def test_the_demo_ends_with_a_verdict_and_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_module, "SEEDS", 2)
    monkeypatch.setattr(demo_module, "STEPS", 2)
    began = time.perf_counter()
    verdict = demo(tmp_path / "demo")
    taken = time.perf_counter() - began
    shown = capsys.readouterr().err
    assert "3,628,032 parameters" in shown
    assert "it continues: Bonjour les" in shown
    for text in demo_module.SENTENCES:
        assert text in shown
    for command in ("greffe pretrain", "greffe compare", "greffe finetune"):
        assert command in verdict
    assert "pretraining" in verdict
    assert (tmp_path / "demo/study/report.html").stat().st_size > 100_000

    began = time.perf_counter()
    again = demo(tmp_path / "demo")
    assert again == verdict
    assert time.perf_counter() - began < taken / 2

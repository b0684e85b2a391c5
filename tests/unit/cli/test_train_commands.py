"""The verbs that train: what they write, and what they pass on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from greffe import api
from greffe.run import open_run

Command = Callable[..., Any]


def test_linear_runs_and_their_ensemble(command: Command, table: Path, tmp_path: Path) -> None:
    runs = [tmp_path / f"{seed}" for seed in range(2)]
    for seed, run in enumerate(runs):
        outcome = command("linear", "--data", table, "--seed", seed, "--out", run)
        assert outcome.code == 0, outcome.err
    assert command("ensemble", *runs, "--out", tmp_path / "both").code == 0
    manifest = open_run(tmp_path / "both").manifest()
    assert manifest.labels == open_run(runs[0]).manifest().labels
    assert command("linear", "--data", table, "--out", runs[0]).code == 3, "without --overwrite"


@pytest.mark.parametrize(
    ("verb", "words", "expected"),
    [
        ("prepare", ("a.txt", "b.txt"), {"valid": 0.01, "workers": 0}),
        ("pretrain", ("a.txt", "--from", "runs/a"), {"from_": Path("runs/a"), "valid": 0.01}),
        ("finetune", ("--data", "t.tsv", "--scratch"), {"scratch": True, "new_head": False}),
        (
            "linear",
            ("--data", "t.tsv", "--features-from", "runs/a", "--no-tfidf"),
            {"feature_runs": [Path("runs/a")], "tfidf": False, "base": None},
        ),
    ],
)
def test_flags_reach_the_function(
    verb: str,
    words: tuple[str, ...],
    expected: dict[str, Any],
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(api, verb, lambda *_, **keywords: seen.update(keywords))
    assert command(verb, *words, "--out", "runs/out").code == 0
    assert seen.pop("output").out == Path("runs/out")
    assert expected.items() <= seen.items()

"""greffe finetune --aux-data: auxiliary labels first, then yours, in one command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import greffe
from greffe.progress import quiet
from greffe.samples.toy import toy_reviews

Command = Callable[..., Any]
SHORT = ("--budget", "1epochs", "--set", "train.threads=1")


def write(path: Path, count: int, seed: int) -> Path:
    rows = (f"{label}\t{text}\n" for label, text in toy_reviews(count, seed=seed))
    path.write_text("".join(rows), "utf-8")
    return path


@pytest.fixture
def others(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / f"{name}.tsv", 30, seed) for name, seed in (("a", 5), ("b", 6))]


@pytest.fixture
def words(world: Any, others: list[Path]) -> list[str | Path]:
    return [
        *("finetune", "--from", world.base, "--data", world.train, "--valid", world.valid),
        *("--aux-data", others[0], "--aux-data", others[1], *SHORT),
    ]


def test_one_command_does_the_same_as_two(
    command: Command, words: list[str | Path], world: Any, tmp_path: Path
) -> None:
    done = command(*words, "--out", tmp_path / "clf")
    assert done.code == 0, done.err
    assert "first 60 texts with auxiliary labels, then" in done.err
    run, intermediate = (
        greffe.load(tmp_path / "clf"),
        greffe.load(tmp_path / "clf" / "intermediate"),
    )
    assert run.manifest().lineage.parent_weights == intermediate.manifest().weights
    known = {
        "train",
        "valid",
        *(f"earlier {name}" for name in intermediate.manifest().lineage.data),
    }
    assert run.manifest().lineage.data.keys() == known
    assert intermediate.recipe().train.batch == 32 and run.recipe().train.lr == 3e-4
    with quiet():
        alone = greffe.finetune(
            intermediate,
            data=world.train,
            valid=world.valid,
            out=tmp_path / "alone",
            budget="1epochs",
            changes=["train.threads=1"],
        )
    assert run.manifest().weights == alone.manifest().weights
    assert run.manifest().lineage.initial_head == alone.manifest().lineage.initial_head
    assert run.predict("Un roman magnifique.")[0].label in run.labels


def test_runs_know_the_auxiliary_tables(
    command: Command, words: list[str | Path], others: list[Path], world: Any, tmp_path: Path
) -> None:
    assert command(*words, "--out", tmp_path / "clf").code == 0
    with quiet():
        stacked = greffe.linear(world.valid, tmp_path / "stacked", base=tmp_path / "clf")
        greffe.ensemble([tmp_path / "clf", stacked], tmp_path / "both")
    for name in ("clf", "stacked", "both"):
        shown = command("evaluate", tmp_path / name, "--data", others[1])
        assert shown.code == 0 and "scores will be optimistic" in shown.err
    for flags in ((tmp_path / "clf",), (world.base, "--arm", f"other={tmp_path}/clf/intermediate")):
        refused = command(
            *("compare", *flags, "--data", world.train, "--test", others[0]),
            *("--out", tmp_path / "study"),
        )
        assert refused.code == 3 and "was trained on the test texts" in refused.err
        assert "auxiliary 1 part" in refused.err
        assert not (tmp_path / "study").exists()


def test_a_finished_run_is_kept_unless_overwritten(
    command: Command, words: list[str | Path], tmp_path: Path
) -> None:
    out = tmp_path / "clf"
    assert command(*words, "--out", out).code == 0
    before = (out / "weights.safetensors").read_bytes()
    again = command(*words, "--out", out)
    assert again.code == 3 and "--overwrite" in again.err
    resumed = command(*words, "--out", out, "--resume")
    assert resumed.code == 0 and resumed.err.count("already finished") == 2
    assert (out / "weights.safetensors").read_bytes() == before
    anew = command(*words, "--out", out, "--overwrite", "--seed", "3")
    assert anew.code == 0, anew.err
    assert (out / "weights.safetensors").read_bytes() != before


def test_from_scratch_with_the_architecture_of_a_run(
    command: Command, world: Any, others: list[Path], tmp_path: Path
) -> None:
    done = command(
        *("finetune", "--scratch", "--like", world.base, "--data", world.train),
        *("--aux-data", others[0], *SHORT, "--out", tmp_path / "clf"),
    )
    assert done.code == 0, done.err
    assert "from scratch: all weights are new" in done.err

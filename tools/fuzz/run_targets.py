"""The small files of a run: its manifest, recipe and metrics, and the state of a training."""

from __future__ import annotations

from pathlib import Path

from tools.fuzz.targets import Target, commands, file_at, write_to
from tools.fuzz.tree_changes import change_json, change_json_line, change_toml
from tools.fuzz.world import UNFINISHED_BUDGET

ONE_STEP = "--budget 1steps --set train.threads=1 --set train.compile=false"
FINETUNE = f"finetune --from base --data train.tsv --valid valid.tsv --out out {ONE_STEP}"
RESUME = (
    f"pretrain corpus --out unfinished --resume --recipe unfinished/recipe.toml "
    f"--budget {UNFINISHED_BUDGET}"
)
SHOW = ("show {run} --json", "show {run}", "report {run} --out out")
PREDICT = (
    "predict {run} 'Un livre magnifique.' --format jsonl",
    "evaluate {run} --data valid.tsv --json --calibrated",
    "evaluate {run} --data valid.tsv --json",
)
TABLES = ("train.tsv", "valid.tsv")


def _manifest(run: str, *lines: str, file: str = "run.json") -> Target:
    """Return the target of a run's manifest, or of one in its folder."""
    return Target(
        name=f"manifest-{run}" if file == "run.json" else f"manifest-in-{run}",
        examples=file_at(f"{run}/{file}"),
        change=change_json,
        place=write_to(f"{run}/{file}"),
        actions=commands(*(line.format(run=run) for line in lines)),
        parts=(run, *TABLES),
        weight=2,
    )


def _state_file(world: Path) -> Path:
    (found,) = (world / "unfinished" / "checkpoints").glob("step-*/state.json")
    return found.relative_to(world)


def _place_state(folder: Path, data: bytes) -> None:
    (folder / _state_file(folder)).write_bytes(data)


TARGETS = (
    _manifest(
        "base", *SHOW, "generate {run} Ce --tokens 3", "fill {run} 'Ce <mask>.' --json", FINETUNE
    ),
    _manifest("classifier", *SHOW, *PREDICT, FINETUNE.replace("base", "classifier")),
    _manifest("linear", *SHOW, *PREDICT),
    _manifest("ensemble", *SHOW, *PREDICT),
    _manifest("ensemble", *PREDICT, file="feature_runs/0/run.json"),
    _manifest("unfinished", SHOW[0], "fill {run} 'Ce <mask>.' --json"),
    Target(
        name="run-recipe",
        examples=file_at("base/recipe.toml"),
        change=change_toml,
        place=write_to("base/recipe.toml"),
        actions=commands("show base --json", "generate base Ce --tokens 3", FINETUNE),
        parts=("base", *TABLES),
        weight=2,
    ),
    Target(
        name="metrics",
        examples=file_at("base/metrics.jsonl", "classifier/metrics.jsonl"),
        change=change_json_line,
        place=write_to("base/metrics.jsonl"),
        actions=commands("report base --out out", "report base classifier --out out"),
        parts=("base", "classifier"),
    ),
    Target(
        name="metrics-resumed",
        examples=file_at("unfinished/metrics.jsonl"),
        change=change_json_line,
        place=write_to("unfinished/metrics.jsonl"),
        actions=commands(RESUME),
        parts=("unfinished", "corpus"),
        written=("unfinished",),
    ),
    Target(
        name="training-state",
        examples=lambda world: [(world / _state_file(world)).read_bytes()],
        change=change_json,
        place=_place_state,
        actions=commands("fill unfinished 'Ce <mask>.' --json", RESUME),
        parts=("unfinished", "corpus"),
        written=("unfinished",),
    ),
)

"""The original lab's figure: validation accuracy over 15 epochs, pretrained and from scratch.

    python -m tools.lab_curve RUN --train train.tsv --valid valid.tsv --seeds 5 --out runs/curve

RUN is a base of the recipe lab. A cell (arm, seed) is one fine-tuning with that recipe; finished
cells are read back. Writes curve.json and lab-curve.svg, and prints a table.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt

from greffe.evaluation.intervals import Estimate, seeds_estimate
from greffe.lab.lab_markdown import standalone
from greffe.report.catalog import load_catalog
from greffe.report.charts.lines import Point, Series, line_chart
from greffe.report.charts.svg import Heading
from greffe.storage import write_atomic, write_json

ARMS = ("pretrained", "scratch")
LAB_LAST = {"pretrained": 0.805, "scratch": 0.77}
"""The middles of what the original lab read at the end of its curves: 80 to 81%, 75 to 79%."""

Curves = npt.NDArray[np.float64]


def main() -> None:
    """Train all cells, several at a time; print the table and write the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("base", type=Path)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--valid", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    cells = [(arm, seed) for seed in range(chosen.seeds) for arm in ARMS]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(chosen.processes, mp_context=spawn) as pool:
        made = [
            pool.submit(train_cell, chosen.base, chosen.train, chosen.valid, arm, seed, chosen.out)
            for arm, seed in cells
        ]
        found = dict(zip(cells, [each.result() for each in made], strict=True))
    curves = {
        arm: np.array([found[arm, seed] for seed in range(chosen.seeds)]) for arm in ARMS
    }  # [seeds, epochs]
    write_json(chosen.out / "curve.json", {arm: each.tolist() for arm, each in curves.items()})
    write_atomic(chosen.out / "lab-curve.svg", standalone(chart(curves)).encode())
    print(table(curves))


def train_cell(base: Path, train: Path, valid: Path, arm: str, seed: int, out: Path) -> list[float]:
    """Fine-tune once; return the validation accuracy after each epoch."""
    import greffe

    kept = out / f"{arm}-{seed}.json"
    if kept.exists():
        known: list[float] = json.loads(kept.read_text())
        return known
    is_new = arm == "scratch"
    run = greffe.finetune(
        None if is_new else base,
        data=train,
        valid=valid,
        out=out / f"{arm}-{seed}",
        scratch=is_new,
        like=base if is_new else None,
        seed=seed,
        changes=["train.threads=1"],
        resume=True,
    )
    accuracies = [line["accuracy"] for line in run.metrics() if line["kind"] == "valid"]
    write_json(kept, accuracies)
    shutil.rmtree(run.path)
    return accuracies


def table(curves: dict[str, Curves]) -> str:
    """Return the accuracy after each epoch and the paired difference, as Markdown."""
    lines = ["| epoch | pretrained | scratch | difference |", "| --- | --- | --- | --- |"]
    differences = curves["pretrained"] - curves["scratch"]
    for epoch in range(differences.shape[1]):
        pretrained, scratch = (seeds_estimate(curves[arm][:, epoch].tolist()) for arm in ARMS)
        gain = seeds_estimate(differences[:, epoch].tolist())
        lines.append(
            f"| {epoch + 1} | {_percent(pretrained)} | {_percent(scratch)} | "
            f"{100 * gain.mean:+.1f} ({100 * gain.low:+.1f} to {100 * gain.high:+.1f}) |"
        )
    return "\n".join(lines)


def _percent(found: Estimate) -> str:
    return f"{found.mean:.1%} ({100 * found.low:.1f} to {100 * found.high:.1f})"


def chart(curves: dict[str, Curves]) -> str:
    """Return both curves with their intervals, and where the lab's ended, as SVG."""
    series = [Series(arm, _points(curves[arm]), arm) for arm in ARMS]
    heading = Heading(
        ident="lab-curve",
        title="Validation accuracy over the epochs",
        description="With 95% intervals, and where the original lab's curves ended",
        catalog=load_catalog("en"),
        x_label="epoch",
        y_label="validation accuracy",
    )
    ends = [(f"lab, {arm}", value) for arm, value in LAB_LAST.items()]
    return line_chart(series, heading, reference_lines=ends)


def _points(curves: Curves) -> list[Point]:
    found = [seeds_estimate(column) for column in curves.T.tolist()]
    return [Point(epoch, one.mean, one.low, one.high) for epoch, one in enumerate(found, start=1)]


if __name__ == "__main__":
    main()

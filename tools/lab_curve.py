"""The original lab's figure: validation accuracy over 15 epochs, pretrained and from scratch.

    python -m tools.lab_curve RUN --train train.tsv --valid valid.tsv --seeds 5 --out runs/curve

RUN is a base of the recipe lab. A cell (arm, seed) is one fine-tuning with that recipe; finished
cells are read back. Writes curve.json and curve.png, and prints a table.
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
from greffe.storage import write_json

ARMS = ("pretrained", "scratch")
COLORS = {"pretrained": "#0f766e", "scratch": "#b45309"}
LAB_FIRST = {"pretrained": (0.70, 0.75), "scratch": (0.50, 0.50)}
LAB_LAST = {"pretrained": (0.80, 0.81), "scratch": (0.75, 0.79)}
"""What the original lab read off its own curves: after the first epoch, and at the end."""

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
    draw(curves, chosen.out / "curve.png")
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


def draw(curves: dict[str, Curves], path: Path) -> None:
    """Draw both curves with their intervals, every seed thinly, and the lab's ranges."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 4.6), layout="constrained")
    for arm in ARMS:
        epochs = np.arange(1, curves[arm].shape[1] + 1)
        found = [seeds_estimate(column) for column in curves[arm].T.tolist()]
        color = COLORS[arm]
        axes.plot(epochs, 100 * curves[arm].T, color=color, linewidth=0.6, alpha=0.4)
        low, high = ([100 * getattr(each, end) for each in found] for end in ("low", "high"))
        axes.fill_between(epochs, low, high, color=color, alpha=0.15, linewidth=0)
        mean = [100 * each.mean for each in found]
        axes.plot(epochs, mean, color=color, marker="o", markersize=4, label=arm)
        for at, ranges in ((epochs[0] - 0.35, LAB_FIRST), (epochs[-1] + 0.35, LAB_LAST)):
            bottom, top = (100 * each for each in ranges[arm])
            axes.plot([at, at], [bottom - 0.15, top + 0.15], color=color, linewidth=5, alpha=0.6)
    axes.axvline(1.5, color="#999999", linewidth=0.8, linestyle=":")
    axes.set(xlabel="epoch", ylabel="validation accuracy (%)", xticks=epochs)
    axes.set_title(
        "1,600 French book reviews; thick bars: the original lab's readings", fontsize=10
    )
    axes.grid(axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()

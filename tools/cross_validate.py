"""Cross-validated accuracy of fine-tuned bases and linear models, with one seed per fold.

    python -m tools.cross_validate --data train.tsv --data valid.tsv --out runs/cv \\
        --arm base=greffe-fr --arm scratch=new:greffe-fr --arm tfidf=linear:

An arm is NAME=RUN, NAME=new:RUN for new weights in RUN's shape, or NAME=linear:RUN,FEATURE_RUN,…
for a linear model on TF-IDF, RUN's features, class scores of feature runs and `--aux-data` (all but
TF-IDF are optional). Each fold is the test part once; the last weights are tested, so nothing is
chosen on the test part. Finished folds are read back.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from greffe.config.options import Reading
from greffe.data.tables import Example, read_examples
from greffe.inference.prediction import Prediction

FOLDS = 5
THREADS = "1"


def main() -> None:
    """Run all arms on all folds, several processes at a time, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", action="append", required=True, help="label<TAB>text; repeatable")
    parser.add_argument(
        "--arm",
        action="append",
        default=[],
        help="NAME=RUN, NAME=new:RUN or NAME=linear:RUN,FEATURE_RUN,…",
    )
    parser.add_argument(
        "--aux-data",
        action="append",
        default=[],
        help="auxiliary data for linear: arms; repeatable",
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--labels", type=int, help="training labels per fold; default: all")
    parser.add_argument(
        "--change",
        action="append",
        default=[],
        help="change of the recipe, as key=value; repeatable",
    )
    parser.add_argument("--folds", default=",".join(map(str, range(FOLDS))))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--one", nargs=2, metavar=("ARM", "FOLD"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(run_fold(chosen.one[0], int(chosen.one[1]), chosen)))
        return
    folds = [int(fold) for fold in chosen.folds.split(",")]
    arms = [arm.split("=", 1) for arm in chosen.arm]
    _run_all([(name, fold) for fold in folds for name, _ in arms], chosen.out, chosen.processes)
    for name, _ in arms:
        found = [_result(chosen.out, name, fold)["accuracy"] for fold in folds]
        _print_row(name, found)


def split(
    files: Sequence[str], fold: int, labels: int | None
) -> tuple[list[Example], list[Example]]:
    """Return training and test texts; a subset of the labels is drawn by class."""
    from sklearn.model_selection import StratifiedKFold, train_test_split

    examples = [example for file in files for example in read_examples(file, Reading())]
    targets = [example.label for example in examples]
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(examples, targets)
    chosen, tested = list(parts)[fold]
    if labels is not None:
        chosen, _ = train_test_split(
            chosen, train_size=labels, stratify=[targets[i] for i in chosen], random_state=fold
        )
    return [examples[i] for i in chosen], [examples[i] for i in tested]


def run_fold(name: str, fold: int, chosen: argparse.Namespace) -> dict[str, Any]:
    """Train and test one arm on one fold; keep and return the result."""
    import greffe

    arm = dict(item.split("=", 1) for item in chosen.arm)[name]
    train, tested = split(chosen.data, fold, chosen.labels)
    out = chosen.out / f"{name}-{fold}"
    if arm.startswith("linear:"):
        base, *feature_runs = arm.removeprefix("linear:").split(",")
        run = greffe.linear(
            train,
            out,
            base=base or None,
            feature_runs=feature_runs,
            aux_data=chosen.aux_data,
            seed=fold,
            overwrite=True,
        )
        epochs = []
    else:
        is_new = arm.startswith("new:")
        run = greffe.finetune(
            None if is_new else arm,
            data=train,
            valid=tested,
            out=out,
            scratch=is_new,
            like=arm.removeprefix("new:") if is_new else None,
            seed=fold,
            changes=["train.keep=last", f"train.threads={THREADS}", *chosen.change],
            overwrite=True,
        )
        epochs = [line["accuracy"] for line in run.metrics() if line["kind"] == "valid"]
    predictions = run.predict([example.text for example in tested])
    result = {
        "accuracy": accuracy(predictions, tested),
        "epochs": epochs,
        "targets": [example.label for example in tested],
        "probabilities": [prediction.probabilities for prediction in predictions],
    }
    shutil.rmtree(out)
    _result_path(chosen.out, name, fold).write_text(json.dumps(result))
    return result


def accuracy(predictions: Sequence[Prediction], tested: Sequence[Example]) -> float:
    """Return the fraction of correct labels."""
    pairs = zip(predictions, tested, strict=True)
    return sum(prediction.label == example.label for prediction, example in pairs) / len(tested)


def _run_all(jobs: list[tuple[str, int]], out: Path, processes: int) -> None:
    """Run each job in its own process, `processes` at a time."""
    out.mkdir(parents=True, exist_ok=True)
    waiting = [job for job in jobs if not _result_path(out, *job).exists()]
    running: list[subprocess.Popen[bytes]] = []
    environment = {**os.environ, "OMP_NUM_THREADS": THREADS}
    for name, fold in waiting:
        if len(running) == processes:
            _wait(running.pop(0))
        command = [sys.executable, "-m", "tools.cross_validate", *sys.argv[1:]]
        log = (out / f"{name}-{fold}.log").open("wb")
        running.append(
            subprocess.Popen(
                [*command, "--one", name, str(fold)], stdout=log, stderr=log, env=environment
            )
        )
    for process in running:
        _wait(process)


def _wait(process: subprocess.Popen[bytes]) -> None:
    if process.wait():
        raise SystemExit(f"failed: {process.args!r}; see the logs beside the results")


def _result_path(out: Path, name: str, fold: int) -> Path:
    return out / f"{name}-{fold}.json"


def _result(out: Path, name: str, fold: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_result_path(out, name, fold).read_text())
    return found


def _print_row(name: str, accuracies: Sequence[float]) -> None:
    mean = sum(accuracies) / len(accuracies)
    spread = (sum((a - mean) ** 2 for a in accuracies) / max(len(accuracies) - 1, 1)) ** 0.5
    folds = " ".join(f"{100 * a:.1f}" for a in accuracies)
    print(f"{name:<16} {100 * mean:5.1f}% ± {100 * spread:.1f} over folds   ({folds})", flush=True)


if __name__ == "__main__":
    main()

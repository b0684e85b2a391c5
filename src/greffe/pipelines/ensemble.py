"""Blend: runs that label the same classes, together as one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from greffe.baselines.ensembling import ensembled
from greffe.baselines.linear_runs import open_feature_run, write_linear_run
from greffe.errors import MismatchError, RecipeError
from greffe.output_folder import OutputFolder
from greffe.progress import notice
from greffe.run import RunDirectory
from greffe.training.compute import set_up_compute


def ensemble(
    runs: Sequence[RunDirectory], out: str | Path, *, overwrite: bool = False
) -> RunDirectory:
    """Average what the runs say of a text; nothing is fitted, so no label is needed."""
    if len(runs) < 2:
        raise RecipeError(
            "There is nothing to blend.",
            expected="two runs or more that label the same classes",
            found=f"{len(runs)}",
        )
    readers = [open_feature_run(run) for run in runs]
    manifests = [run.manifest() for run in runs]
    labels = manifests[0].labels
    for run, manifest in zip(runs, manifests, strict=True):
        if set(manifest.labels) != set(labels):
            raise MismatchError(
                f"{run.name} and {runs[0].name} do not label the same classes.",
                expected=", ".join(labels),
                found=", ".join(manifest.labels),
                hint="greffe linear --features-from RUN combines runs with other labels",
            )
    trained_on = {manifest.lineage.data.get("train") for manifest in manifests}
    shared = trained_on.pop() if len(trained_on) == 1 else None
    threads = set_up_compute()
    with OutputFolder(out, overwrite=overwrite, sources=[run.path for run in runs]) as folder:
        classifier = ensembled(readers, [manifest.labels for manifest in manifests], labels)
        made = write_linear_run(
            folder.path,
            classifier,
            labels,
            parent=None,
            feature_runs=runs,
            threads=threads,
            data={} if shared is None else {"train": shared},
            result={},
        )
    notice(f"blend: {len(runs)} runs, {len(labels)} classes, each with the same say")
    made.say_where()
    return made

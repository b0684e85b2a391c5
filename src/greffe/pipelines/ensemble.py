"""greffe ensemble: combine runs that label the same classes into one run."""

from __future__ import annotations

from collections.abc import Sequence

from greffe.baselines.ensembling import ensemble_classifier
from greffe.baselines.linear_runs import open_feature_run, write_linear_run
from greffe.config.options import Output
from greffe.errors import MismatchError, RecipeError
from greffe.output_folder import OutputFolder
from greffe.pipelines.model_card import write_model_card
from greffe.progress import notice
from greffe.run import RunDirectory
from greffe.training.compute import set_up_compute


def ensemble(runs: Sequence[RunDirectory], output: Output) -> RunDirectory:
    """Average the runs' predictions; nothing is fitted, so no labels are needed."""
    if len(runs) < 2:
        raise RecipeError(
            "An ensemble needs at least two runs.",
            expected="two or more runs that label the same classes",
            found=f"{len(runs)}",
        )
    readers = [open_feature_run(run) for run in runs]
    labels_of = [run.manifest().labels for run in runs]
    labels = labels_of[0]
    for run, found in zip(runs, labels_of, strict=True):
        if set(found) != set(labels):
            raise MismatchError(
                f"{run.name} and {runs[0].name} do not label the same classes.",
                expected=", ".join(labels),
                found=", ".join(found),
                hint="greffe linear --features-from RUN combines runs with other labels",
            )
    trained_on = {run.manifest().lineage.data.get("train") for run in runs}
    shared = trained_on.pop() if len(trained_on) == 1 else None
    threads = set_up_compute()
    sources = [run.path for run in runs]
    with OutputFolder(
        output.out, overwrite=output.overwrite, resumes="never", sources=sources
    ) as folder:
        folder.begin()
        made = write_linear_run(
            folder.path,
            ensemble_classifier(readers, labels_of, labels),
            labels,
            parent=None,
            feature_runs=runs,
            threads=threads,
            data={} if shared is None else {"train": shared},
            result={},
        )
        write_model_card(made)
    notice(f"ensemble: mean of {len(runs)} runs, {len(labels)} classes")
    notice(f"run written to {made.path}")
    return made

"""Calibrate: a finished run and labelled texts → a temperature in its manifest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from greffe.baselines.linear_runs import require_labels
from greffe.data.tables import Example
from greffe.errors import DataError, RunError
from greffe.evaluation.calibration import Scaled, fit_temperature
from greffe.evaluation.metrics import label_indices
from greffe.output_folder import OutputFolder
from greffe.pipelines.labelled import data_hash
from greffe.pipelines.provenance import lineage_of, trained_on
from greffe.progress import notice
from greffe.run import FEATURE_RUNS, Calibration, RunDirectory

FEW_TEXTS = 100


def calibrate_run(
    run: RunDirectory,
    examples: Sequence[Example],
    scaled_of: Callable[[Sequence[str]], Scaled],
) -> Calibration:
    """Fit a temperature to labelled texts and write it into the run's manifest.

    `scaled_of` reads texts with the run's model; see `Scaled`.
    """
    _require_writable(run)
    manifest = run.manifest()
    targets = [example.label for example in examples]
    label_indices(manifest.labels, targets)  # fail on unknown labels before predicting
    digest = data_hash(examples)
    if any(trained_on(each, [digest]) for each in lineage_of(run)):
        notice("the run was trained on these texts and is too sure of them: calibrate on others")
    texts = [example.text for example in examples]
    calibration = fit_temperature(manifest.labels, targets, scaled_of(texts))
    if calibration is None:
        raise DataError(
            "No temperature follows from these texts.",
            expected="texts of which the run labels some wrongly, as it does in use",
            found=f"{len(texts)} texts, all of them labelled correctly",
            hint="give more labelled texts that the run was not trained on",
        )
    if len(texts) < FEW_TEXTS:
        notice(f"{len(texts)} texts are few to calibrate on; better give at least {FEW_TEXTS}")
    with OutputFolder(run.path, resume=True):  # the run may be started again by another process
        changed = run.manifest()
        if changed.weights != manifest.weights or changed.labels != manifest.labels:
            raise RunError(f"{run.name} has changed meanwhile.", hint="repeat the command")
        run.write_manifest(changed.model_copy(update={"calibration": calibration}))
    return calibration


def _require_writable(run: RunDirectory) -> None:
    """Raise an error unless the run is finished, labels texts and belongs to the user alone."""
    if run.is_shipped:
        raise RunError(
            f"{run.name} is part of the package, where nothing is written.",
            expected="a run of your own that labels texts",
            hint="greffe finetune makes one",
        )
    require_labels(run)
    if run.path.resolve().parent.name == FEATURE_RUNS:
        raise RunError(
            f"{run.name} is part of another run, which checks that it stays as it is.",
            expected="a run of its own",
            hint="calibrate the run that it was copied from",
        )

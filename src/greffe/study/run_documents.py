"""A plain run as a report shows it: facts, curves, parameters, pictures, samples."""

from __future__ import annotations

from greffe.run import RECIPE_FILE, RunDirectory
from greffe.study.model_views import parameter_rows, pictures_of, samples_of
from greffe.study.run_document import MetricPoint, RunDocument

LOOKED_AT = ("loss", "bits_per_byte", "accuracy", "macro_f1", "log_loss")
"""Measures of the validation part that are drawn over steps."""


def run_document(run: RunDirectory) -> RunDocument:
    """Everything that is on disk about a run."""
    manifest = run.manifest()
    lineage = manifest.lineage
    has_model = manifest.kind != "linear"
    lines = list(run.metrics())
    evaluations = [line for line in lines if line["kind"] == "valid"]
    hashes = {
        "initial base": lineage.initial_base,
        "tokenizer": lineage.tokenizer,
        "weights": manifest.weights,
        **lineage.data,
    }
    return RunDocument(
        name=run.path.resolve().name,
        kind=manifest.kind,
        status=manifest.status,
        labels=manifest.labels,
        parent=lineage.parent,
        created=lineage.created,
        command=lineage.command,
        versions=lineage.versions,
        hashes={name: digest for name, digest in hashes.items() if digest},
        result=manifest.result,
        loss=[
            MetricPoint(step=line["step"], value=line["loss"])
            for line in lines
            if line["kind"] == "train" and line.get("loss") is not None
        ],
        valid={
            measure: [
                MetricPoint(step=line["step"], value=line[measure])
                for line in evaluations
                if line.get(measure) is not None
            ]
            for measure in LOOKED_AT
            if any(line.get(measure) is not None for line in evaluations)
        },
        parameters=parameter_rows(run) if has_model else [],
        pictures=pictures_of(run) if has_model else [],
        samples=samples_of(run.path.resolve().name, run, ())
        if manifest.kind == "language-model"
        else [],
        recipe=run.recipe().to_toml() if (run.path / RECIPE_FILE).exists() else "",
    )

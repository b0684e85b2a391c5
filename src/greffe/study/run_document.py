"""A run as a report shows it: facts, curves, parameters, pictures, samples, lineage."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from greffe.config.recorded import Figure
from greffe.config.spec import Spec
from greffe.inference.language_samples import LanguageSample
from greffe.inference.matrices import Matrix
from greffe.model.parameters import ParameterRow
from greffe.run import RECIPE_FILE, RunDirectory
from greffe.study.model_views import parameter_rows, pictures_of, samples_of

VALIDATION_MEASURES = ("loss", "bits_per_byte", "accuracy", "macro_f1", "log_loss")
"""Measures on the validation part that are drawn over steps."""


class MetricPoint(Spec):
    """One logged value."""

    step: int
    value: float


class RunDocument(Spec):
    """One run."""

    name: str
    kind: Literal["language-model", "classifier", "linear"]
    status: Literal["training", "finished"]
    labels: list[str] = Field(default_factory=list)
    parent: str | None = None
    created: str
    command: list[str]
    versions: dict[str, str]
    hashes: dict[str, str]
    """Of its initial base, tokenizer, weights and data, by name."""
    result: dict[str, Figure] = Field(default_factory=dict)
    """Final figures, as in its manifest."""
    loss: list[MetricPoint] = Field(default_factory=list)
    """Training loss."""
    valid: dict[str, list[MetricPoint]] = Field(default_factory=dict)
    """Results on the validation part, by measure."""
    parameters: list[ParameterRow] = Field(default_factory=list)
    pictures: list[Matrix] = Field(default_factory=list)
    samples: list[LanguageSample] = Field(default_factory=list)
    recipe: str = ""
    """As TOML."""


def run_document(run: RunDirectory) -> RunDocument:
    """Return everything that is on disk about a run."""
    manifest = run.manifest()
    lineage = manifest.lineage
    has_model = manifest.kind != "linear"
    lines = list(run.metrics())
    evaluations = [line for line in lines if line.get("kind") == "valid"]
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
            if line.get("kind") == "train" and line.get("loss") is not None
        ],
        valid={
            measure: [
                MetricPoint(step=line["step"], value=line[measure])
                for line in evaluations
                if line.get(measure) is not None
            ]
            for measure in VALIDATION_MEASURES
            if any(line.get(measure) is not None for line in evaluations)
        },
        parameters=parameter_rows(run) if has_model else [],
        pictures=pictures_of(run) if has_model else [],
        samples=samples_of(run.path.resolve().name, run, ())
        if manifest.kind == "language-model"
        else [],
        recipe=run.recipe().to_toml() if (run.path / RECIPE_FILE).exists() else "",
    )

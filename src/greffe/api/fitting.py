"""The verb fit: the best classifier for some labels within a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from greffe.api.runs import Run
from greffe.auto import fit as fit_pipeline
from greffe.config.option_groups import Without, flat_keywords
from greffe.config.options import Output, Reading, Tables, Training
from greffe.machine import memory_errors
from greffe.report.number_format import Language


@memory_errors()
@flat_keywords
def fit(
    tables: Annotated[Tables, Without("valid", "test")],
    output: Output,
    *,
    unlabelled: Sequence[str | Path] = (),
    base: str | Path | Sequence[str | Path] | None = None,
    training: Annotated[Training, Without("recipe", "objective", "show_tensors", "track")],
    reading: Reading,
    language: Language = "en",
) -> Run:
    """Find the best classifier for these labels within the budget, and write it as one run.

    Tries TF-IDF, a base's features, fine-tuning and ensembles; with `unlabelled`, the base is
    pretrained on that text first; with `aux_data`, auxiliary labels take part. Of several bases the
    first is pretrained on the text, and all are tried. Choices are made by cross-validation inside
    `data`. fit.json and report.html in the run's folder say what each part was worth.
    """
    run = fit_pipeline.fit(
        tables,
        output,
        unlabelled=unlabelled,
        base_sources=[base] if isinstance(base, str | Path) else base or [],
        training=training,
        reading=reading,
        language=language,
    )
    return Run.open(run.path)

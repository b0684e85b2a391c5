"""The public face of what joins models: stack, a linear model fitted to labels, and blend, a mean.

Knows the stages and nothing of the command line, which calls the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from greffe.api import Run
from greffe.config.options import Reading
from greffe.pipelines import ensemble as ensemble_pipeline
from greffe.pipelines import linear as linear_pipeline
from greffe.pipelines.labelled import Examples
from greffe.run import RunDirectory, open_base, open_run


def linear(
    data: Examples,
    out: str | Path,
    *,
    base: str | Path | RunDirectory | None = None,
    feature_runs: Sequence[str | Path | RunDirectory] = (),
    aux_data: Sequence[Examples] = (),
    tfidf: bool = True,
    seed: int = 0,
    options: Reading | None = None,
    overwrite: bool = False,
) -> Run:
    """TF-IDF, a base's features and what teachers, runs that label texts, say: one linear model.

    `also`: tables of other texts with the same labels, which it learns from beside these.
    """
    return Run.open(
        linear_pipeline.linear(
            data,
            out,
            parent=None if base is None else open_base(base),
            feature_runs=[open_run(feature_run) for feature_run in feature_runs],
            aux_data=aux_data,
            tfidf=tfidf,
            seed=seed,
            options=options,
            overwrite=overwrite,
        ).path
    )


def ensemble(
    runs: Sequence[str | Path | RunDirectory], out: str | Path, *, overwrite: bool = False
) -> Run:
    """Runs that label the same classes as one run: the mean of what they say, nothing fitted."""
    made = ensemble_pipeline.ensemble([open_run(run) for run in runs], out, overwrite=overwrite)
    return Run.open(made.path)

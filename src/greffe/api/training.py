"""The verbs that write a corpus or a run: prepare, import_base, pretrain, finetune, linear …"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from greffe.api.runs import AnyRun, Run, TableReading
from greffe.config.option_groups import Without, flat_keywords
from greffe.config.options import Computing, Output, Reading, Tables, TokenizerOptions, Training
from greffe.data.corpus import Corpus
from greffe.errors import RecipeError
from greffe.machine import memory_errors
from greffe.pipelines import ensemble as ensemble_pipeline
from greffe.pipelines import finetune as finetune_pipeline
from greffe.pipelines import import_base as import_pipeline
from greffe.pipelines import linear as linear_pipeline
from greffe.pipelines import prepare as prepare_pipeline
from greffe.pipelines import pretrain as pretrain_pipeline
from greffe.pipelines.finetune_recipe import Start
from greffe.pipelines.intermediate import finetune_in_stages
from greffe.pipelines.sources import open_base
from greffe.pipelines.tracking import check_trackers
from greffe.run import open_run

Inputs = str | Path | Sequence[str | Path]
TextReading = Annotated[Reading, Without("label_column")]
ForeignTokenizer = Annotated[
    TokenizerOptions, Without("vocab", "tokenizer_kind", "new_vocab", "lowercase")
]


@memory_errors()
@flat_keywords
def prepare(
    inputs: Inputs,
    output: Output,
    *,
    tokenizer_options: Annotated[TokenizerOptions, Without("new_vocab")],
    valid: float = 0.01,
    reading: TextReading,
    workers: int = 0,
    seed: int = 0,
) -> Corpus:
    """Turn text into token shards: drop duplicates, hold out a part, use all cores."""
    return prepare_pipeline.prepare(
        inputs,
        output,
        tokenizer_options=tokenizer_options,
        valid=valid,
        reading=reading,
        workers=workers,
        seed=seed,
    )


@memory_errors()
@flat_keywords
def import_base(
    source: str | Path,
    output: Annotated[Output, Without("resume")],
    *,
    tokenizer_options: ForeignTokenizer,
) -> Run:
    """Write a base from elsewhere as a run: a folder in Hugging Face format, or hf:owner/name.

    The original lab's checkpoint (.pt) is a source too, with its `tokenizer` and `dictionary`.
    Every function that takes a base takes a source, and imports it on the way.
    """
    run = import_pipeline.import_base(source, output, tokenizer_options=tokenizer_options)
    return Run.open(run.path)


@memory_errors()
@flat_keywords
def pretrain(
    corpus: Inputs,
    output: Output,
    *,
    from_: AnyRun | None = None,
    training: Annotated[Training, Without("soup", "jobs")],
    tokenizer_options: Annotated[TokenizerOptions, Without("tokenizer_kind")],
    reading: TextReading,
    valid: float = 0.01,
) -> Run:
    """Train a language model on a prepared corpus or on raw text; `from_` continues another run.

    With `new_vocab`, the other run's weights are transferred to a vocabulary made for this text.
    """
    check_trackers(training.track)
    run = pretrain_pipeline.pretrain(
        corpus,
        output,
        parent=None if from_ is None else open_base(from_),
        training=training,
        tokenizer_options=tokenizer_options,
        reading=reading,
        valid=valid,
    )
    return Run.open(run.path)


@memory_errors()
@flat_keywords
def finetune(
    base: AnyRun | None = None,
    *,
    tables: Annotated[Tables, Without("test")],
    output: Output,
    scratch: bool = False,
    like: AnyRun | None = None,
    training: Annotated[Training, Without("objective")],
    reading: TableReading,
    new_head: bool = False,
) -> Run:
    """Train a classifier on a base; with `scratch`, on fresh weights in the shape of `like`.

    With `aux_data`, fine-tune on the auxiliary labels first, then on `data`.
    """
    _check_base(base, like, scratch=scratch)
    check_trackers(training.track)
    start = Start(
        parent=None if base is None else open_base(base),
        like=None if like is None else open_base(like),
        new_head=new_head,
    )
    pipeline = finetune_in_stages if tables.aux_data else finetune_pipeline.finetune
    run = pipeline(tables, output, start=start, training=training, reading=reading)
    return Run.open(run.path)


def _check_base(base: AnyRun | None, like: AnyRun | None, *, scratch: bool) -> None:
    if scratch and base is not None:
        raise RecipeError(
            "--from and --scratch are mutually exclusive.",
            expected="--from RUN, or --scratch --like RUN",
            hint="for the same architecture with fresh weights: --scratch --like RUN",
        )
    if base is not None and like is not None:
        raise RecipeError(
            "--like has no effect with --from: the architecture is the parent's.",
            hint="for fresh weights: --scratch --like RUN",
        )
    if not scratch and base is None:
        raise RecipeError(
            "There is no base to fine-tune.",
            expected="--from RUN, or --scratch with --like RUN or --recipe NAME",
        )


@memory_errors()
@flat_keywords
def linear(
    tables: Annotated[Tables, Without("valid", "test")],
    output: Annotated[Output, Without("resume")],
    *,
    base: AnyRun | None = None,
    feature_runs: Sequence[AnyRun] = (),
    tfidf: bool = True,
    unlabelled: Sequence[str | Path] = (),
    seed: int = 0,
    computing: Computing,
    reading: Reading,
) -> Run:
    """Fit a linear classifier on TF-IDF, a base's features and the class scores of feature runs.

    With `aux_data`, it is trained on the auxiliary texts too. `unlabelled` texts add features: a
    latent semantic analysis of their words.
    """
    run = linear_pipeline.linear(
        tables,
        output,
        parent=None if base is None else open_base(base),
        feature_runs=[open_run(feature_run) for feature_run in feature_runs],
        tfidf=tfidf,
        unlabelled=unlabelled,
        seed=seed,
        computing=computing,
        reading=reading,
    )
    return Run.open(run.path)


@memory_errors()
@flat_keywords
def ensemble(runs: Sequence[AnyRun], output: Annotated[Output, Without("resume")]) -> Run:
    """Combine runs with the same classes into one that averages their probabilities."""
    run = ensemble_pipeline.ensemble([open_run(run) for run in runs], output)
    return Run.open(run.path)

"""Verbs that write a corpus or a run: prepare, import, pretrain, finetune, linear, ensemble …"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greffe.cli import flags
from greffe.config.bounds import Processes, Seed, Trainings
from greffe.config.option_groups import Without
from greffe.config.options import (
    Computing,
    Output,
    Reading,
    Tables,
    TokenizerOptions,
    Training,
)


@flags.expand_groups
def demo(
    computing: Computing,
    out: Annotated[Path, typer.Option("--out", help="Folder for the demo's runs.")] = Path(
        "runs/demo"
    ),
    overwrite: flags.StartAgain = False,
) -> None:
    """Show the whole workflow on shipped data, in a few minutes."""
    from greffe.demo import demo as run_demo

    print(run_demo(out, overwrite=overwrite, computing=computing))


@flags.expand_groups
def prepare(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders, globs, or hf:owner/name.")],
    output: Output,
    tokenizer_options: Annotated[TokenizerOptions, Without("new_vocab")],
    reading: Annotated[Reading, Without("label_column")],
    valid: flags.Valid = 0.01,
    workers: Annotated[
        int, flags.number(Processes, help="Number of processes; 0: one per core.")
    ] = 0,
) -> None:
    """Turn text into token shards, for pretraining.

    Duplicates are dropped, a part is held out, and all cores are used.
    """
    from greffe import api

    api.prepare(
        inputs,
        output=output,
        tokenizer_options=tokenizer_options,
        reading=reading,
        valid=valid,
        workers=workers,
    )


@flags.expand_groups
def pretrain(
    corpus: Annotated[
        list[str],
        typer.Argument(help="A prepared corpus, or raw text, which is prepared first."),
    ],
    output: Output,
    training: Annotated[Training, Without("soup", "jobs")],
    tokenizer_options: Annotated[TokenizerOptions, Without("tokenizer_kind")],
    reading: Annotated[Reading, Without("label_column")],
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="Continue from a run, greffe-fr or hf:owner/name."),
    ] = None,
    valid: flags.Valid = 0.01,
) -> None:
    """Train a base: a language model on your text."""
    from greffe import api

    api.pretrain(
        corpus,
        output=output,
        from_=from_,
        training=training,
        tokenizer_options=tokenizer_options,
        reading=reading,
        valid=valid,
    )


@flags.expand_groups
def import_base(
    source: Annotated[
        str,
        typer.Argument(
            help="A folder in Hugging Face format, hf:owner/name[@revision], or the lab's .pt file."
        ),
    ],
    output: Annotated[Output, Without("resume")],
    tokenizer_options: Annotated[
        TokenizerOptions, Without("vocab", "tokenizer_kind", "new_vocab", "lowercase")
    ],
) -> None:
    """Make a run of a base from elsewhere.

    --from, --arm and compare take such a source too, and keep what they import in a cache.
    """
    from greffe import api

    api.import_base(source, output=output, tokenizer_options=tokenizer_options)


@flags.expand_groups
def finetune(
    tables: Annotated[Tables, Without("test")],
    output: Output,
    training: Annotated[Training, Without("objective")],
    reading: Annotated[Reading, Without("documents")],
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="The base: a run, greffe-fr or hf:owner/name."),
    ] = None,
    scratch: Annotated[
        bool, typer.Option("--scratch", help="Use fresh weights, for comparison.")
    ] = False,
    like: Annotated[
        Path | None, typer.Option(help="With --scratch: a run with the same architecture.")
    ] = None,
    new_head: Annotated[
        bool, typer.Option("--new-head", help="Use a fresh head even if the labels are the same.")
    ] = False,
) -> None:
    """Train a classifier on a base and your labels.

    With --aux-data, fine-tune on auxiliary labels first (recipe intermediate, kept in
    OUT/intermediate); recipe, budget, soup and --set then apply to your labels.
    """
    from greffe import api

    api.finetune(
        from_,
        tables=tables,
        output=output,
        scratch=scratch,
        like=like,
        training=training,
        reading=reading,
        new_head=new_head,
    )


@flags.expand_groups
def linear(
    tables: Annotated[Tables, Without("valid", "test")],
    output: Annotated[Output, Without("resume")],
    reading: Reading,
    computing: Computing,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A base that adds features: a run, greffe-fr or hf:owner/name.",
        ),
    ] = None,
    feature_runs: flags.FeatureRuns = None,
    tfidf: Annotated[
        bool, typer.Option("--tfidf/--no-tfidf", help="Words 1-2 and characters 2-5.")
    ] = True,
    unlabelled: flags.Unlabelled = None,
    seed: Annotated[int, flags.number(Seed, help="Random seed of the cross-validation.")] = 0,
) -> None:
    """Fit a linear classifier on TF-IDF and features of other runs.

    --from adds a base's features, --features-from the class scores of a run, --unlabelled a latent
    semantic analysis of texts without labels.
    """
    from greffe import api

    api.linear(
        tables=tables,
        output=output,
        base=from_,
        feature_runs=feature_runs or [],
        tfidf=tfidf,
        unlabelled=unlabelled or [],
        seed=seed,
        computing=computing,
        reading=reading,
    )


@flags.expand_groups
def ensemble(
    runs: Annotated[list[Path], typer.Argument(help="Two or more runs with the same classes.")],
    output: Annotated[Output, Without("resume")],
) -> None:
    """Combine runs into one that averages their probabilities."""
    from greffe import api

    api.ensemble(runs, output=output)


@flags.expand_groups
def lab(
    computing: Computing,
    out: Annotated[Path, typer.Option("--out", help="Folder for the page and its runs.")] = Path(
        "runs/lab"
    ),
    language: flags.ReportLanguage = "en",
    lab_data: Annotated[
        Path | None,
        typer.Option("--lab-data", help="Folder with the lab's original files; default: a sample."),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", help="With --lab-data: pretraining text; default: the reviews."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Pretraining budget of each base: 10m, 2000steps, 3epochs.")
    ] = None,
    seeds: Annotated[
        int | None,
        flags.number(
            Trainings, help="Trainings per arm; default: 8 on the sample, 6 on the files."
        ),
    ] = None,
    overwrite: flags.StartAgain = False,
    docs: Annotated[
        Path | None, typer.Option("--docs", hidden=True, help="Also write Markdown with figures.")
    ] = None,
) -> None:
    """Answer the lab's five questions by running them, as one page. About four minutes."""
    from greffe.lab.lab_page import PAGE_FILE, lab_answers, lab_catalog
    from greffe.lab.run_lab import lab as run_lab
    from greffe.storage import check_writable

    if docs is not None:
        check_writable(docs)
    document = run_lab(
        out,
        lab_data=lab_data,
        corpus=corpus,
        budget=budget,
        seeds=seeds,
        language=language,
        overwrite=overwrite,
        computing=computing,
    )
    if docs is not None:
        from greffe.lab.lab_markdown import write_lab_markdown

        write_lab_markdown(document, docs)
    print("\n".join(lab_answers(document, lab_catalog(language))))
    print(f"\n{out / PAGE_FILE}")

"""Verbs that make something: demo, prepare, pretrain, finetune, stack, blend."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greffe.cli import options as o


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the demo's runs.")] = Path(
        "runs/demo"
    ),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start anew instead of going on.")
    ] = False,
) -> None:
    """What the base that ships is worth on the reviews that ship, in two to three minutes."""
    from greffe.demo import demo as run_demo

    print(run_demo(out, overwrite=overwrite))


def prepare(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders, globs, or hf:owner/name.")],
    out: o.Out,
    vocab: Annotated[int, typer.Option(help="Pieces of a newly trained tokenizer.")] = 16_000,
    kind: Annotated[
        o.TokenizerKind, typer.Option("--kind", help="How a tokenizer is trained.")
    ] = o.TokenizerKind.bpe,
    tokenizer: o.TokenizerPath = None,
    dictionary: o.Dictionary = None,
    lowercase: o.Lowercase = False,
    valid: o.Valid = 0.01,
    documents: o.Documents = o.DocumentUnit.line,
    encoding: o.Encoding = "utf-8",
    text_column: o.TextColumn = None,
    workers: Annotated[int, typer.Option(help="Processes; 0: one a core.")] = 0,
    overwrite: o.Overwrite = False,
    resume: o.Resume = False,
) -> None:
    """Turn text into token shards: all cores, duplicates dropped, a part held out."""
    from greffe import api

    api.prepare(
        inputs,
        out,
        vocab=vocab,
        tokenizer_kind=kind.value,
        tokenizer=tokenizer,
        dictionary=dictionary,
        lowercase=lowercase,
        valid=valid,
        options=o.read_options(documents=documents, encoding=encoding, text_column=text_column),
        workers=workers,
        overwrite=overwrite,
        resume=resume,
    )


def pretrain(
    corpus: Annotated[
        list[str],
        typer.Argument(help="A prepared corpus, or raw text that is prepared on the way."),
    ],
    out: o.Out,
    recipe: o.RecipeName = None,
    objective: Annotated[
        o.Objective | None, typer.Option(help="What is learnt; the recipe's own if not given.")
    ] = None,
    budget: o.Budget = None,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Go on from this run's weights, or greffe-fr's.")
    ] = None,
    seed: o.Seed = None,
    changes: o.Set = None,
    vocab: Annotated[
        int | None, typer.Option(help="Pieces of a tokenizer trained for raw text.")
    ] = None,
    tokenizer: o.TokenizerPath = None,
    dictionary: o.Dictionary = None,
    lowercase: o.Lowercase = False,
    valid: o.Valid = 0.01,
    documents: o.Documents = o.DocumentUnit.line,
    encoding: o.Encoding = "utf-8",
    text_column: o.TextColumn = None,
    replant: Annotated[
        bool,
        typer.Option(
            "--replant", help="With --from: keep its blocks, but learn this text's own pieces."
        ),
    ] = False,
    show_tensors: Annotated[
        bool, typer.Option("--show-tensors", help="With --from: what became of each tensor.")
    ] = False,
    overwrite: o.Overwrite = False,
    resume: o.Resume = False,
) -> None:
    """Grow a base: a language model on your text."""
    from greffe import api

    api.pretrain(
        corpus,
        out,
        from_=from_,
        recipe=recipe,
        objective=objective.value if objective else None,
        budget=budget,
        seed=seed,
        changes=changes or [],
        vocab=vocab,
        tokenizer=tokenizer,
        dictionary=dictionary,
        lowercase=lowercase,
        options=o.read_options(documents=documents, encoding=encoding, text_column=text_column),
        valid=valid,
        replant=replant,
        show_tensors=show_tensors,
        overwrite=overwrite,
        resume=resume,
    )


def finetune(
    data: o.Data,
    out: o.Out,
    from_: Annotated[
        Path | None, typer.Option("--from", help="The run whose base is grafted, or greffe-fr.")
    ] = None,
    scratch: Annotated[
        bool, typer.Option("--scratch", help="Fresh weights, to compare with.")
    ] = False,
    like: Annotated[
        Path | None, typer.Option(help="With --scratch: this run's architecture, or greffe-fr's.")
    ] = None,
    recipe: o.RecipeName = None,
    valid: o.ValidTable = None,
    aux_data: o.AuxData = None,
    budget: o.Budget = None,
    seed: o.Seed = None,
    soup: o.Members = None,
    changes: o.Set = None,
    encoding: o.Encoding = "utf-8",
    text_column: o.TextColumn = None,
    label_column: o.LabelColumn = None,
    new_head: Annotated[
        bool, typer.Option("--new-head", help="A fresh head even if the parent knows these labels.")
    ] = False,
    show_tensors: Annotated[
        bool, typer.Option("--show-tensors", help="What became of each of the parent's tensors.")
    ] = False,
    overwrite: o.Overwrite = False,
    resume: o.Resume = False,
) -> None:
    """Graft a classifier onto a base and teach it your labels.

    With --aux-data, fine-tune on auxiliary labels first (recipe intermediate, kept in
    OUT/intermediate); recipe, budget, soup and --set then apply to your labels.
    """
    from greffe import api

    api.finetune(
        from_,
        data=data,
        out=out,
        valid=valid,
        aux_data=aux_data or [],
        scratch=scratch,
        like=like,
        recipe=recipe,
        budget=budget,
        seed=seed,
        soup=soup,
        changes=changes or [],
        options=o.read_options(
            encoding=encoding, text_column=text_column, label_column=label_column
        ),
        new_head=new_head,
        show_tensors=show_tensors,
        overwrite=overwrite,
        resume=resume,
    )


def linear(
    data: o.Data,
    out: o.Out,
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="The run whose base reads the texts too, or greffe-fr."),
    ] = None,
    feature_runs: o.FeatureRuns = None,
    aux_data: o.AuxData = None,
    tfidf: Annotated[
        bool, typer.Option("--tfidf/--no-tfidf", help="Words 1-2 and characters 2-5.")
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds that choose the penalty.")] = 0,
    encoding: o.Encoding = "utf-8",
    text_column: o.TextColumn = None,
    label_column: o.LabelColumn = None,
    overwrite: o.Overwrite = False,
) -> None:
    """TF-IDF, a base's features and what other runs say of a text, in one linear model.

    Without --from and --features-from, TF-IDF alone. --aux-data brings labels of something similar.
    """
    from greffe import joining

    joining.linear(
        data,
        out,
        base=from_,
        feature_runs=feature_runs or [],
        aux_data=aux_data or [],
        tfidf=tfidf,
        seed=seed,
        options=o.read_options(
            encoding=encoding, text_column=text_column, label_column=label_column
        ),
        overwrite=overwrite,
    )


def ensemble(
    runs: Annotated[
        list[Path], typer.Argument(help="Runs that label the same classes, two or more.")
    ],
    out: o.Out,
    overwrite: o.Overwrite = False,
) -> None:
    """Several runs as one: the mean of what they say of a text. Nothing is fitted."""
    from greffe import joining

    joining.ensemble(runs, out, overwrite=overwrite)

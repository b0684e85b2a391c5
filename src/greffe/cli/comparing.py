"""Verbs about studies: compare and report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from greffe.cli import options as o

if TYPE_CHECKING:
    from greffe.config.options import Reading
    from greffe.studies import Study


def compare(
    base: Annotated[
        Path, typer.Argument(help="The run whose pretraining is in question, or greffe-fr.")
    ],
    data: o.Data,
    out: o.Out,
    valid: o.ValidTable = None,
    test: o.TestTable = None,
    arm: Annotated[
        list[str] | None,
        typer.Option("--arm", help="One more base to compare: name=RUN. Repeatable."),
    ] = None,
    feature_runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--features-from",
            help="A run that labels texts already; one more arm, advised, has what it says of each "
            "as features. Repeatable.",
        ),
    ] = None,
    aux_data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Labelled texts of others, with the same labels; one more arm, beside, is TF-IDF "
            "that learns from them too. Repeatable."
        ),
    ] = None,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Also with the base frozen: a linear probe.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings an arm.")] = 8,
    labels: Annotated[
        str | None,
        typer.Option(help="Accuracy against training labels: 50,100,200,all."),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", help="Pretraining text, searched for the test part. Repeatable."),
    ] = None,
    recipe: o.RecipeName = None,
    budget: o.Budget = None,
    changes: o.Set = None,
    language: o.LanguageName = o.Language.en,
    encoding: o.Encoding = "utf-8",
    text_column: o.TextColumn = None,
    label_column: o.LabelColumn = None,
    keep_runs: Annotated[
        bool, typer.Option("--keep-runs", help="Keep the weights of every training.")
    ] = False,
    as_json: o.Json = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start anew; otherwise a study goes on.")
    ] = False,
) -> None:
    """Was the pretraining worth it? Arms over paired seeds, baselines, statistics, a report."""
    from greffe import studies

    study = studies.compare(
        base,
        data=data,
        out=out,
        valid=valid,
        test=test,
        arms=_read_arms(arm or []),
        feature_runs=feature_runs or [],
        aux_data=aux_data or [],
        frozen=frozen,
        seeds=seeds,
        labels=_read_labels(labels),
        recipe=recipe,
        budget=budget,
        changes=changes or [],
        corpus=corpus or [],
        options=_reading(encoding, text_column, label_column),
        language=language.value,
        keep_runs=keep_runs,
        overwrite=overwrite,
    )
    _print_study(study, language, as_json)


def report(
    paths: Annotated[list[Path], typer.Argument(help="A study, or one run or more.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder to write to; the study's or run's own if not given."),
    ] = None,
    language: o.LanguageName = o.Language.en,
) -> None:
    """Build the page again from what is on disk: of a study, or of runs side by side."""
    from greffe import studies

    print(studies.report(paths, out, language=language.value))


def _reading(encoding: str, text_column: str | None, label_column: str | None) -> Reading:
    return o.read_options(encoding=encoding, text_column=text_column, label_column=label_column)


def _read_arms(given: list[str]) -> dict[str, Path]:
    from greffe.errors import RecipeError

    arms: dict[str, Path] = {}
    for item in given:
        name, equals, path = item.partition("=")
        if not equals or not name or not path or name in arms:
            raise RecipeError(
                f"--arm {item!r} cannot be read.",
                expected="a name of its own and a run: --arm causal=runs/causal",
            )
        arms[name] = Path(path)
    return arms


def _read_labels(text: str | None) -> list[int]:
    """`50,100,all` as numbers; all labels are always tried."""
    from greffe.errors import RecipeError

    words = [] if text is None else [word.strip() for word in text.split(",")]
    wrong = [word for word in words if word != "all" and not word.isdecimal()]
    if wrong:
        raise RecipeError(
            f"--labels {text!r} cannot be read.",
            expected="numbers with commas between them, such as 50,100,200,all",
            found=", ".join(map(repr, wrong)),
        )
    return [int(word) for word in words if word != "all"]


def _print_study(study: Study, language: o.Language, as_json: bool) -> None:
    from greffe.cli.render import print_tables
    from greffe.cli.study_tables import study_tables

    if as_json:
        print(json.dumps(study.found.model_dump(mode="json"), ensure_ascii=False))
        return
    print_tables(study_tables(study.found))
    found = study.verdict_in(language.value)
    print("\n".join([found.headline, *found.sentences]))
    print(f"\nThe whole report: {study.report}")

"""The verb lab: the original lab's questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greffe.cli import flags


def lab(
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
        typer.Option(min=1, help="Trainings per arm; default: 8 on the sample, 6 on the files."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start again instead of resuming.")
    ] = False,
    docs: Annotated[
        Path | None, typer.Option("--docs", hidden=True, help="Also write Markdown with figures.")
    ] = None,
) -> None:
    """Answer the lab's five questions by running them, as one page. About four minutes."""
    from greffe.lab.lab_page import PAGE_FILE, lab_answers, lab_catalog
    from greffe.lab.run_lab import lab as run_lab

    document = run_lab(
        out,
        lab_data=lab_data,
        corpus=corpus,
        budget=budget,
        seeds=seeds,
        language=language,
        overwrite=overwrite,
    )
    if docs is not None:
        from greffe.lab.lab_markdown import write_lab_markdown

        write_lab_markdown(document, docs)
    print("\n".join(lab_answers(document, lab_catalog(language))))
    print(f"\n{out / PAGE_FILE}")

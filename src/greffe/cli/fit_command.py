"""greffe fit: the best classifier for some labels, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from greffe.cli import flags
from greffe.cli.json_output import print_json
from greffe.config.option_groups import Without
from greffe.config.options import Output, Reading, Tables, Training
from greffe.display import terminal_text


@flags.expand_groups
def fit(
    tables: Annotated[Tables, Without("valid", "test")],
    output: Output,
    training: Annotated[Training, Without("recipe", "objective", "show_tensors", "track")],
    reading: Reading,
    unlabelled: flags.Unlabelled = None,
    base: Annotated[
        list[str] | None,
        typer.Option(
            help="A base: a run, greffe-fr or hf:owner/name; repeatable: the first is pretrained "
            "on the texts, the others are tried too; default: greffe-fr for French, otherwise a "
            "new one."
        ),
    ] = None,
    language: flags.ReportLanguage = "en",
    as_json: flags.Json = False,
) -> None:
    """Find the best classifier for your labels within a time.

    TF-IDF, a pretrained base and ensembles are compared by cross-validation; the best is trained
    on all labels. The report says what each part was worth. Default budget: 20m.
    """
    from greffe import api
    from greffe.auto.document import FIT_FILE, FitDocument
    from greffe.auto.fit_page import advice_sentences, fit_catalog, fit_sentences
    from greffe.report.build import HTML_FILE
    from greffe.storage import read_model

    run = api.fit(
        tables=tables,
        output=output,
        unlabelled=unlabelled or [],
        base=list(base or []),
        training=training,
        reading=reading,
        language=language,
    )
    document = read_model(FitDocument, run.path / FIT_FILE, "what greffe fit found")
    if as_json:
        print_json(document.model_dump(mode="json"))
        return
    catalog = fit_catalog(language)
    print(terminal_text("\n".join(fit_sentences(document, catalog))))
    print(f"\n{catalog('section.next.title')}")
    print("\n".join(f"- {sentence}" for sentence in advice_sentences(document, catalog)))
    print(f"\nReport: {Path(run.path) / HTML_FILE}")

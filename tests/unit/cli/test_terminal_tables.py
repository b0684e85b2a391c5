"""Tables for the terminal: what is shown of runs, evaluations, predictions and masks."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table

from greffe.cli.terminal_tables import (
    SHOWN_CHARACTERS,
    account_table,
    fill_tables,
    prediction_table,
    run_tables,
)
from greffe.data.text_rows import TextRow
from greffe.inference.fill import Filling
from greffe.inference.prediction import Prediction
from greffe.model.parameters import account
from greffe.run import open_run


def shown(*tables: Table) -> str:
    console = Console(file=io.StringIO(), width=200)
    for table in tables:
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_run_and_its_parameters() -> None:
    run = open_run("greffe-fr")
    manifest = run.manifest()
    text = shown(*run_tables("greffe-fr", manifest))
    assert "language-model" in text and "causal and bidirectional" in text
    assert manifest.lineage.tokenizer[:12] in text
    counted = account(run.recipe().model, manifest.vocab, manifest.heads)
    table = shown(account_table(counted, "greffe-fr"))
    assert f"{counted.base.counted:,}" in table and counted.base.formula in table


def test_predictions_have_short_texts_and_probabilities() -> None:
    long = "mot " * 40
    text = shown(
        prediction_table(
            [
                (TextRow(long), Prediction("1", 0.75, {"0": 0.25, "1": 0.75})),
                (TextRow("b"), Prediction("0", 1.0, {"0": 1.0, "1": 0.0})),
            ]
        )
    )
    assert "75.0%" in text and "25.0%" in text and "…" in text
    assert max(map(len, text.splitlines())) < SHOWN_CHARACTERS + 60


def test_masks_are_numbered_if_there_are_several() -> None:
    gap = [Filling("beau", 0.5, "un beau livre")]
    assert "<mask>" not in shown(*fill_tables([gap]))
    several = shown(*fill_tables([gap, gap]))
    assert "<mask> 1" in several and "<mask> 2" in several and "50.0%" in several

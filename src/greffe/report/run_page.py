"""The page of plain runs, side by side: how they were trained, what they are made of."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

from greffe import __version__
from greffe.inference.pictures import Matrix
from greffe.report.blocks import Block, Code, Figure, Section, chart_texts, section
from greffe.report.catalog import Catalog
from greffe.report.charts import Point, Series, distinct_kinds, line_chart
from greffe.report.evidence_tables import all_parameters_table, samples_table
from greffe.report.model_sections import parameters_section, pictures_section, samples_section
from greffe.report.page import Page
from greffe.report.report_table import Column, Raw, Table, cell, number_column, text_column
from greffe.report.table_cells import SHOWN_HASH
from greffe.study.arms import ARMS
from greffe.study.run_document import MetricPoint, RunDocument

SHARES = ("accuracy", "macro_f1")
"""Measures drawn in percent; others are plain numbers."""
# Charts give these a style of their own, so that a run keeps it through all charts.
KINDS = tuple(ARMS)
UNDRAWN = ("rows", "seconds", "epoch")


def named_apart(runs: Sequence[RunDocument]) -> list[RunDocument]:
    """The runs, with a number behind a name that another one has already."""
    names = _numbered([run.name for run in runs])
    return [
        run.model_copy(
            update={
                "name": name,
                "samples": [one.model_copy(update={"run": name}) for one in run.samples],
            }
        )
        for run, name in zip(runs, names, strict=True)
    ]


def _numbered(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number = names[: len(found)].count(name) + 1
        found.append(name if number == 1 else f"{name} ({number})")
    return found


def runs_page(runs: Sequence[RunDocument], catalog: Catalog) -> Page:
    """Curves of all runs in one chart each; sections without data are left out."""
    samples = [sample for run in runs for sample in run.samples]
    sections = (
        _runs_section(runs, catalog),
        _training_section(runs, catalog),
        parameters_section({run.name: run.parameters for run in runs}, catalog),
        pictures_section(_pictures(runs), catalog),
        samples_section(samples, catalog),
        _repeat_section(runs, catalog),
    )
    names = catalog.enumeration([run.name for run in runs])
    return Page(
        title=catalog("page.runs_title", names=names),
        headline=catalog("page.headline_of_runs"),
        sentences=[],
        about="",
        sections=[found for found in sections if found is not None],
        footer=catalog("page.made", version=__version__, date=f"{datetime.now(UTC):%Y-%m-%d}"),
    )


def run_tables(runs: Sequence[RunDocument], catalog: Catalog) -> list[Table]:
    """Every table of the page."""
    title = catalog("section.parameters.title")
    return [
        _runs_table(runs, catalog),
        _points_table("training", "loss", {run.name: run.loss for run in runs}, catalog),
        Table(
            "valid",
            catalog("table.valid"),
            _point_columns(catalog),
            [
                row
                for name in _measures(runs)
                for row in _points_table("valid", name, _evaluations(runs, name), catalog).rows
            ],
        ),
        all_parameters_table({run.name: run.parameters for run in runs}, title, catalog),
        samples_table([sample for run in runs for sample in run.samples], catalog),
    ]


# --- sections -------------------------------------------------------------------------------------


def _runs_section(runs: Sequence[RunDocument], catalog: Catalog) -> Section:
    return section("runs", catalog, [_runs_table(runs, catalog)])


def _training_section(runs: Sequence[RunDocument], catalog: Catalog) -> Section | None:
    blocks: list[Block] = []
    losses = {run.name: run.loss for run in runs if run.loss}
    if losses:
        table = _points_table("training", "loss", losses, catalog)
        title, caption = catalog("figure.loss.title"), catalog("figure.loss.caption")
        svg = _curves(losses, runs, "loss-chart", title, caption, catalog("figure.loss.y"), catalog)
        blocks.append(Figure("loss-chart", title, caption, svg, table))
    for number, name in enumerate(_measures(runs), 1):
        evaluations = _evaluations(runs, name)
        ident = f"valid-{number}"
        spoken = _measure(name, catalog)
        title, caption = catalog("figure.valid.title", name=spoken), catalog("figure.valid.caption")
        svg = _curves(
            evaluations, runs, ident, title, caption, spoken, catalog, percent=name in SHARES
        )
        table = _points_table("valid", name, evaluations, catalog)
        blocks.append(Figure(ident, title, caption, svg, table))
    return section("training", catalog, blocks) if blocks else None


def _curves(
    points: dict[str, list[MetricPoint]],
    runs: Sequence[RunDocument],
    ident: str,
    title: str,
    description: str,
    y_label: str,
    catalog: Catalog,
    *,
    percent: bool = False,
) -> str:
    found_kinds = distinct_kinds(KINDS[place % len(KINDS)] for place in range(len(runs)))
    kinds = {run.name: kind for run, kind in zip(runs, found_kinds, strict=True)}
    return line_chart(
        [
            Series(run, [Point(one.step, one.value) for one in found], kinds[run])
            for run, found in points.items()
        ],
        ident=ident,
        title=title,
        description=description,
        x_label=catalog("figure.loss.x"),
        y_label=y_label,
        y_percent=percent,
        catalog=chart_texts(catalog),
    )


def _repeat_section(runs: Sequence[RunDocument], catalog: Catalog) -> Section:
    blocks: list[Block] = []
    for run in runs:
        if run.command:
            blocks.append(Code(f"{run.name}: {catalog('repeat.command')}", shlex.join(run.command)))
        if run.recipe:
            blocks.append(Code(f"{run.name}: {catalog('repeat.recipe')}", run.recipe))
    return section("repeat", catalog, blocks)


def _pictures(runs: Sequence[RunDocument]) -> list[Matrix]:
    """Each picture once; where runs differ, the title says whose it is."""
    found: list[Matrix] = []
    for run in runs:
        for matrix in run.pictures:
            if matrix in found:
                continue
            titles = {other.title for other in found}
            is_new = matrix.title not in titles
            title = matrix.title if is_new else f"{matrix.title} ({run.name})"
            found.append(matrix.model_copy(update={"title": title}))
    return found


# --- tables ---------------------------------------------------------------------------------------


def _runs_table(runs: Sequence[RunDocument], catalog: Catalog) -> Table:
    """One column a run, one line a fact."""
    facts = [_facts(run, catalog) for run in runs]
    names = list(dict.fromkeys(name for found in facts for name in found))
    none = catalog("number.none")
    return Table(
        "runs",
        catalog("table.runs"),
        [
            text_column(catalog("column.name"), "name"),
            *(text_column(run.name, run.name) for run in runs),
        ],
        [
            [
                cell(name),
                *(
                    cell(none if (value := found.get(name)) is None else f"{value}", value)
                    for found in facts
                ),
            ]
            for name in names
        ],
    )


def _facts(run: RunDocument, catalog: Catalog) -> dict[str, Raw]:
    facts: dict[str, Raw] = {
        catalog("run.kind"): catalog(f"kind.{run.kind}"),
        catalog("run.status"): catalog(f"kind.{run.status}"),
    }
    if run.labels:
        facts[catalog("run.labels")] = ", ".join(run.labels)
    facts[catalog("run.parent")] = run.parent or catalog("run.fresh")
    facts[catalog("run.created")] = run.created
    for name, value in run.result.items():
        shown = catalog.decimal(value, 4) if isinstance(value, float) else value
        facts[_measure(name, catalog)] = catalog.number(value) if isinstance(value, int) else shown
    for name, digest in run.hashes.items():
        facts[_measure(name, catalog)] = digest[:SHOWN_HASH]
    return {**facts, **run.versions}


def _measure(name: str, catalog: Catalog) -> str:
    """What a run's files call a figure, said in the page's language; as it is if unknown."""
    key = f"measure.{name.replace(' ', '_')}"
    return catalog(key) if catalog.has(key) else name.replace("_", " ")


def _measures(runs: Sequence[RunDocument]) -> list[str]:
    names = dict.fromkeys(name for run in runs for name in run.valid)
    return [name for name in names if name not in UNDRAWN]


def _evaluations(runs: Sequence[RunDocument], name: str) -> dict[str, list[MetricPoint]]:
    return {run.name: run.valid[name] for run in runs if run.valid.get(name)}


def _point_columns(catalog: Catalog) -> list[Column]:
    return [
        text_column(catalog("column.run"), "run"),
        text_column(catalog("column.metric"), "measure"),
        number_column(catalog("column.step"), "step"),
        number_column(catalog("column.value"), "value"),
    ]


def _points_table(
    table: str, measure: str, points: dict[str, list[MetricPoint]], catalog: Catalog
) -> Table:
    return Table(
        table,
        catalog(f"table.{table}"),
        _point_columns(catalog),
        [
            [
                cell(run),
                cell(measure),
                cell(catalog.number(one.step), one.step),
                cell(catalog.decimal(one.value, 4), one.value),
            ]
            for run, found in points.items()
            for one in found
        ],
    )

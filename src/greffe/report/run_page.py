"""The page of plain runs, side by side: how they were trained, what they consist of."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from greffe import __version__
from greffe.inference.matrices import Matrix
from greffe.report.blocks import Block, Code, Figure, Section, figure, section
from greffe.report.catalog import Catalog
from greffe.report.charts.lines import Point, Series, line_chart
from greffe.report.evidence_tables import parameters_table, samples_table
from greffe.report.model_sections import parameters_section, pictures_section, samples_section
from greffe.report.page import Page
from greffe.report.report_table import WRITTEN_HASH, Cell, Raw, Table, TableBuilder, cell
from greffe.study.run_document import MetricPoint, RunDocument

FRACTIONS = ("accuracy", "macro_f1")
"""Measures drawn in percent; others are plain numbers."""
UNDRAWN = ("rows", "seconds", "epoch")
SMALL = 0.001
"""Figures below, such as learning rates, are not written with four decimals."""


def named_apart(runs: Sequence[RunDocument]) -> list[RunDocument]:
    """Return the runs, with a number after a name that another run has already."""
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
    """Return a page with the curves of all runs; sections without data are left out."""
    samples = [sample for run in runs for sample in run.samples]
    sections = (
        _runs_section(runs, catalog),
        _training_section(runs, catalog),
        parameters_section({run.name: run.parameters for run in runs}, catalog),
        pictures_section(_pictures(runs), catalog),
        samples_section(samples, catalog),
        _repeat_section(runs, catalog),
    )
    names = catalog.listing([run.name for run in runs])
    return Page(
        title=catalog("page.runs_title", names=names),
        headline=catalog("page.runs_headline"),
        sentences=[],
        about="",
        sections=[found for found in sections if found is not None],
        footer=catalog(
            "page.made", version=__version__, date=catalog.date(datetime.now(UTC).isoformat())
        ),
    )


def run_tables(runs: Sequence[RunDocument], catalog: Catalog) -> list[Table]:
    """Return every table of the page."""
    return [
        _runs_table(runs, catalog),
        _points_table("training", {"loss": _losses(runs)}, catalog),
        _points_table(
            "valid", {name: _evaluations(runs, name) for name in _measures(runs)}, catalog
        ),
        parameters_table(
            {run.name: run.parameters for run in runs},
            catalog("section.parameters.title"),
            catalog,
            with_run=True,
        ),
        samples_table([sample for run in runs for sample in run.samples], catalog),
    ]


# --- sections -------------------------------------------------------------------------------------


def _runs_section(runs: Sequence[RunDocument], catalog: Catalog) -> Section:
    return section("runs", catalog, [_runs_table(runs, catalog)])


def _training_section(runs: Sequence[RunDocument], catalog: Catalog) -> Section | None:
    blocks: list[Block] = []
    losses = _losses(runs)
    if losses:
        table = _points_table("training", {"loss": losses}, catalog)
        blocks.append(figure("loss", catalog, table, _curves(losses, runs, percent=False)))
    for number, name in enumerate(_measures(runs), 1):
        blocks.append(_valid_figure(runs, name, number, catalog))
    return section("training", catalog, blocks) if blocks else None


def _valid_figure(
    runs: Sequence[RunDocument], measure: str, number: int, catalog: Catalog
) -> Figure:
    points = _evaluations(runs, measure)
    name = _measure(measure, catalog)
    return figure(
        "valid",
        catalog,
        _points_table("valid", {measure: points}, catalog),
        _curves(points, runs, percent=measure in FRACTIONS),
        ident=f"valid-{number}",
        title=catalog("figure.valid.title", name=name),
        x=catalog("figure.loss.x"),
        y=name,
    )


def _curves(
    points: dict[str, list[MetricPoint]], runs: Sequence[RunDocument], *, percent: bool
) -> partial[str]:
    """Return a chart to draw; a run has the same style in all charts."""
    kinds = {run.name: f"run-{number}" for number, run in enumerate(runs)}
    series = [
        Series(run, [Point(one.step, one.value) for one in found], kinds[run])
        for run, found in points.items()
    ]
    return partial(line_chart, series, y_percent=percent)


def _repeat_section(runs: Sequence[RunDocument], catalog: Catalog) -> Section:
    blocks: list[Block] = []
    for run in runs:
        if run.command:
            blocks.append(Code(f"{run.name}: {catalog('repeat.command')}", shlex.join(run.command)))
        if run.recipe:
            blocks.append(Code(f"{run.name}: {catalog('repeat.recipe')}", run.recipe))
    return section("repeat", catalog, blocks)


def _pictures(runs: Sequence[RunDocument]) -> list[tuple[Matrix, str]]:
    """Return each picture once; where runs differ, with the run that it belongs to."""
    found: list[tuple[Matrix, str]] = []
    for run in runs:
        for matrix in run.pictures:
            known = [other for other, _ in found if other.title == matrix.title]
            if matrix not in known:
                found.append((matrix, run.name if known else ""))
    return found


# --- tables ---------------------------------------------------------------------------------------


def _runs_table(runs: Sequence[RunDocument], catalog: Catalog) -> Table:
    """Return one column per run, one row per fact."""
    facts = {run.name: _facts(run, catalog) for run in runs}
    none = catalog("number.none")
    table = TableBuilder(dict.fromkeys(name for found in facts.values() for name in found), catalog)
    table.text("name", lambda name: name)
    for run, found in facts.items():

        def make(name: str, found: dict[str, Raw] = found) -> Cell:
            value = found.get(name)
            return cell(none if value is None else f"{value}", value)

        table.add(run, make, is_number=False, written=run)
    return table.build("runs")


def _facts(run: RunDocument, catalog: Catalog) -> dict[str, Raw]:
    facts: dict[str, Raw] = {
        catalog("run.kind"): catalog(f"kind.{run.kind}"),
        catalog("run.status"): catalog(f"kind.{run.status}"),
    }
    if run.labels:
        facts[catalog("run.labels")] = ", ".join(run.labels)
    facts[catalog("run.parent")] = run.parent or catalog("run.fresh")
    facts[catalog("run.created")] = catalog.date(run.created)
    for name, value in run.result.items():
        if isinstance(value, int):
            value = catalog.number(value)
        elif isinstance(value, float):
            is_small = 0 < abs(value) < SMALL
            value = catalog.plain(value) if is_small else catalog.decimal(value, 4)
        facts[_measure(name, catalog)] = value
    for name, digest in run.hashes.items():
        facts[_measure(name, catalog)] = digest[:WRITTEN_HASH]
    return {**facts, **run.versions}


def _measure(name: str, catalog: Catalog) -> str:
    """Return the name of a measure; trackers and objectives may log some that no catalog has."""
    key = f"measure.{name.replace(' ', '_')}"
    return catalog(key) if catalog.has(key) else name.replace("_", " ")


def _measures(runs: Sequence[RunDocument]) -> list[str]:
    names = dict.fromkeys(name for run in runs for name in run.valid)
    return [name for name in names if name not in UNDRAWN]


def _evaluations(runs: Sequence[RunDocument], name: str) -> dict[str, list[MetricPoint]]:
    return {run.name: run.valid[name] for run in runs if run.valid.get(name)}


def _losses(runs: Sequence[RunDocument]) -> dict[str, list[MetricPoint]]:
    return {run.name: run.loss for run in runs if run.loss}


def _points_table(
    table_name: str, points: dict[str, dict[str, list[MetricPoint]]], catalog: Catalog
) -> Table:
    """Return one row per value, by measure and by run."""
    values = [
        (run, measure, one)
        for measure, by_run in points.items()
        for run, found in by_run.items()
        for one in found
    ]
    table = TableBuilder(values, catalog)
    table.text("run", lambda one: one[0])
    table.text("measure", lambda one: one[1])
    table.count("step", lambda one: one[2].step)
    table.optional("value", lambda one: one[2].value, lambda x: catalog.decimal(x, 4))
    return table.build(table_name)

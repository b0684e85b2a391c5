"""The page of `greffe fit`: the ladder of accuracies, the ladder of costs, what to do next."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from greffe import __version__
from greffe.auto.document import OTHER, TIMES, FitDocument, Rung, Stage
from greffe.evaluation.intervals import Estimate
from greffe.report.blocks import Prose, Section, figure, section
from greffe.report.build import HTML_FILE, MARKDOWN_FILE
from greffe.report.catalog import Catalog, load_catalog
from greffe.report.charts.interval_chart import IntervalRow, interval_chart
from greffe.report.number_format import Language
from greffe.report.page import Page, page_html, page_markdown
from greffe.report.report_table import Cell, Table, TableBuilder, bounds, cell
from greffe.storage import write_atomic


def fit_catalog(language: Language) -> Catalog:
    """Return the report's texts and those of `greffe fit`."""
    return load_catalog(language, "greffe.auto")


def write_fit_page(document: FitDocument, folder: Path, language: Language) -> Path:
    """Write the page as one HTML file and as Markdown."""
    catalog = fit_catalog(language)
    page = fit_page(document, catalog)
    write_atomic(folder / MARKDOWN_FILE, page_markdown(page).encode())
    path = folder / HTML_FILE
    write_atomic(path, page_html(page, catalog).encode("utf-8", "backslashreplace"))
    return path


def fit_page(document: FitDocument, catalog: Catalog) -> Page:
    """Return the page: the result first, then the ladders."""
    sentences = fit_sentences(document, catalog)
    return Page(
        title=catalog("fit.title"),
        headline=sentences[0],
        sentences=sentences[1:],
        about=_about(document, catalog),
        sections=[
            _ladder_section(document, catalog),
            _cost_section(document, catalog),
            _next_section(document, catalog),
        ],
        footer=catalog("page.made", version=__version__, date=catalog.date(document.created)),
    )


def fit_sentences(document: FitDocument, catalog: Catalog) -> list[str]:
    """Return the result in words: what to expect, the gain over TF-IDF, what else was found."""
    expected, final = document.expected, document.final
    names = catalog.listing([rung_name(name, catalog) for name in document.chosen])
    sentences = [
        catalog(
            "fit.expected",
            accuracy=catalog.percent(expected.mean),
            interval=catalog.interval_percent(expected.low, expected.high),
            models=names,
        )
    ]
    if (gain := document.over_tfidf) is not None:
        sentences.append(_gain_sentence("final", "tfidf", gain, catalog))
    for rung in document.rungs[1:]:
        if rung.gain is not None and rung.over is not None:
            sentences.append(_gain_sentence(rung.name, rung.over, rung.gain, catalog))
    for name, seconds in document.skipped.items():
        named = _capitalized(rung_name(name, catalog))
        sentences.append(catalog("fit.skipped", name=named, time=catalog.duration(seconds)))
    if final.name == "tfidf":
        sentences.append(catalog("fit.simplest"))
    return [*sentences, *document.findings]


def _gain_sentence(name: str, over: str, gain: Estimate, catalog: Catalog) -> str:
    kind = "up" if gain.low > 0 else "down" if gain.high < 0 else "same"
    return catalog(
        f"fit.gain.{kind}",
        name=_capitalized(rung_name(name, catalog)),
        over=rung_name(over, catalog),
        gain=catalog.counted_points(gain.mean, signed=True),
        interval=catalog.interval_points(gain.low, gain.high, signed=True),
    )


def rung_name(name: str, catalog: Catalog) -> str:
    """Return a model's name in the page's language."""
    return _translated("rung", name, catalog)


def _capitalized(name: str) -> str:
    return name[0].upper() + name[1:]


def _translated(section: str, name: str, catalog: Catalog) -> str:
    """Return a name of the catalog; one of several bases is named behind it."""
    single, _, times = name.rpartition(TIMES)
    if single:
        return catalog(f"{section}.times", name=_translated(section, single, catalog), times=times)
    model, _, base = name.partition(OTHER)
    known = catalog(f"{section}.{model.replace('+', '_')}")
    return f"{known} ({base})" if base else known


def ladder_table(document: FitDocument, catalog: Catalog) -> Table:
    """Return accuracies and gains."""
    table = TableBuilder(document.rungs, catalog)
    table.text("rung", lambda rung: rung_name(rung.name, catalog), lambda rung: rung.name)
    table.percent("accuracy", lambda rung: rung.accuracy.mean)
    table.interval(lambda rung: bounds(rung.accuracy), prefix="accuracy_")
    none = catalog("number.none")

    def gain(rung: Rung) -> Cell:
        if rung.gain is None:
            return cell(none, None, None, None)
        low, high = rung.gain.low, rung.gain.high
        shown = catalog.points(rung.gain.mean, signed=True)
        return cell(
            f"{shown} ({catalog.interval_points(low, high, signed=True)})",
            rung.gain.mean,
            low,
            high,
        )

    table.add("gain", gain, "gain", "gain_low", "gain_high")
    table.text(
        "over",
        lambda rung: none if rung.over is None else rung_name(rung.over, catalog),
        lambda rung: rung.over,
    )
    final = document.rungs.index(document.final)
    return table.build("ladder", emphasised=[final])


def cost_table(document: FitDocument, catalog: Catalog) -> Table:
    """Return seconds and bytes of each stage and model."""
    items: list[Stage | Rung] = [*document.stages, *document.rungs[1:]]
    table = TableBuilder(items, catalog)
    table.text("rung", lambda one: rung_name(one.name, catalog), lambda one: one.name)
    table.optional("seconds", lambda one: one.seconds, catalog.duration)
    table.optional("size", lambda one: one.size, catalog.memory)
    return table.build("fit_cost")


def _ladder_section(document: FitDocument, catalog: Catalog) -> Section:
    rows = [
        IntervalRow(_translated("chart", rung.name, catalog), rung.accuracy, rung.name)
        for rung in document.rungs
    ]
    table = ladder_table(document, catalog)
    chart = figure("ladder", catalog, table, partial(interval_chart, rows))
    return section("ladder", catalog, [chart, table])


def _cost_section(document: FitDocument, catalog: Catalog) -> Section:
    return section("fit_cost", catalog, [cost_table(document, catalog)])


def _next_section(document: FitDocument, catalog: Catalog) -> Section:
    return section("next", catalog, [Prose(text) for text in advice_sentences(document, catalog)])


def advice_sentences(document: FitDocument, catalog: Catalog) -> list[str]:
    """Return what to do next, the most useful first."""
    values = {}
    if (doubling := document.doubling) is not None:
        values = {
            "gain": catalog.counted_points(doubling.mean, signed=True),
            "interval": catalog.interval_points(doubling.low, doubling.high, signed=True),
        }
    return [
        catalog(f"advice.{name}", **(values if name == "labels" else {}))
        for name in document.advice
    ]


def _about(document: FitDocument, catalog: Catalog) -> str:
    return catalog(
        "fit.about",
        texts=catalog.number(document.texts),
        classes=catalog.number(len(document.labels)),
        auxiliary=catalog.number(document.auxiliary),
        files=catalog.number(len(document.unlabelled)),
        folds=catalog.number(document.folds),
        time=catalog.duration(document.seconds),
    )

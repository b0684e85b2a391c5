"""The parts of a page: sections of figures, tables, code and partials, as HTML and as Markdown.

A figure carries its table, a partial the table that replaces it in Markdown. Knows no study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, assert_never

from greffe.display import markdown_text
from greffe.report.catalog import Catalog
from greffe.report.charts.svg import Heading, element
from greffe.report.report_table import (
    Table,
    scrolling_html,
    table_markdown,
)

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Figure:
    """A chart with a caption, and the numbers it draws."""

    ident: str
    title: str
    caption: str
    svg: str
    table: Table


@dataclass(frozen=True)
class SideBySide:
    """Small figures to compare."""

    figures: Sequence[Figure]


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Code:
    """A command or a recipe to copy."""

    title: str
    text: str


@dataclass(frozen=True)
class Partial:
    """A block with its own template."""

    template: str
    values: Mapping[str, Any]
    table: Table


Block = Figure | SideBySide | Table | Prose | Code | Partial


@dataclass(frozen=True)
class Section:
    """One heading of a page, a sentence on how to read it, and its blocks."""

    ident: str
    title: str
    lead: str
    blocks: Sequence[Block]


def section(ident: str, catalog: Catalog, blocks: Sequence[Block], **values: str) -> Section:
    """Return a section whose title and lead are those of its id in the catalogs."""
    title, lead = catalog(f"section.{ident}.title"), catalog(f"section.{ident}.lead", **values)
    return Section(ident, title, lead, blocks)


def figure(
    name: str,
    catalog: Catalog,
    table: Table,
    draw: Callable[[Heading], str],
    *,
    ident: str | None = None,
    **texts: str,
) -> Figure:
    """Return a chart with the texts of `figure.NAME` in the catalogs: title, caption, x, y.

    `texts` replaces them.
    """
    for key in ("title", "caption", "x", "y"):
        if key not in texts and catalog.has(f"figure.{name}.{key}"):
            texts[key] = catalog(f"figure.{name}.{key}")
    ident = ident or f"{name.replace('_', '-')}-chart"
    title, caption = texts["title"], texts["caption"]
    labels = texts.get("x", ""), texts.get("y", "")
    svg = draw(Heading(ident, title, caption, catalog, *labels))
    return Figure(ident, title, caption, svg, table)


# --- as HTML --------------------------------------------------------------------------------------


@cache
def templates() -> Environment:
    """Return the report's templates; they escape whatever they are given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("greffe.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def block_html(block: Block, catalog: Catalog) -> str:
    """Return a block as HTML."""
    match block:
        case Figure():
            return _figure_html(block, catalog)
        case SideBySide():
            inner = "".join(block_html(figure, catalog) for figure in block.figures)
            return f'<div class="charts">{inner}</div>'
        case Table():
            return scrolling_html(block)
        case Prose():
            return f"<p>{escape(block.text)}</p>"
        case Code():
            label = escape(block.title)
            return (
                f"<h3>{label}</h3>"
                f'<pre tabindex="0" role="region" aria-label="{label}"><code>'
                f"{escape(block.text)}</code></pre>"
            )
        case Partial():
            template = templates().get_template(block.template)
            return template.render(catalog=catalog, **block.values)
        case _:
            assert_never(block)


def _figure_html(figure: Figure, catalog: Catalog) -> str:
    """Return a figure: caption, drawing, export buttons (shown by the script), its table."""
    formats = ("svg", "png", "csv") if "<svg" in figure.svg else ("csv",)
    buttons = "".join(
        element(
            "button",
            form.upper(),
            type="button",
            class_="export",
            data_format=form,
            aria_label=catalog("chart.save", title=figure.title, format=form.upper()),
            hidden="",
        )
        for form in formats
    )
    caption = f"{element('strong', escape(figure.title))} {escape(figure.caption)}"
    summary = element("summary", escape(catalog("chart.data")))
    parts = [
        element("figcaption", caption),
        figure.svg,
        element("div", buttons, class_="exports"),
        element("details", summary + scrolling_html(figure.table, figure.title), class_="data"),
    ]
    return element("figure", "".join(parts), class_="chart-block", id=f"{figure.ident}-figure")


# --- as Markdown ----------------------------------------------------------------------------------


def section_markdown(section: Section, drawings: str = "") -> str:
    """Return a section; figures link to their files in the folder `drawings`, or are tables."""
    parts = [f"## {markdown_text(section.title)}", markdown_text(section.lead)]
    parts += [_block_markdown(block, drawings) for block in section.blocks]
    return "\n\n".join(parts)


def _block_markdown(block: Block, drawings: str) -> str:
    match block:
        case Figure():
            title, caption = markdown_text(block.title), markdown_text(block.caption)
            if drawings:
                return f"**{title}.** {caption}\n\n![{title}]({drawings}/{block.ident}.svg)"
            return f"{caption}\n\n{_titled(block.table)}"
        case Partial():
            return _titled(block.table)
        case SideBySide():
            return "\n\n".join(_block_markdown(figure, drawings) for figure in block.figures)
        case Table():
            return _titled(block)
        case Prose():
            return markdown_text(block.text)
        case Code():
            # A fence longer than any in the text.
            fence = "```"
            while fence in block.text:
                fence += "`"
            return f"### {markdown_text(block.title)}\n\n{fence}\n{block.text.rstrip()}\n{fence}"
        case _:
            assert_never(block)


def _titled(table: Table) -> str:
    return f"**{markdown_text(table.title)}**\n\n{table_markdown(table)}"

"""The parts of a page: sections of figures, tables, code and partials, as HTML and as Markdown.

A figure carries its table, a partial the table that replaces it in Markdown. Knows no study.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, assert_never

from greffe.report.catalog import Catalog
from greffe.report.charts import ChartTexts, chart_block
from greffe.report.report_table import (
    Table,
    markdown_text,
    scrolling_html,
    table_html,
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
    draw: Callable[..., str],
    *,
    ident: str | None = None,
    title: str | None = None,
    caption: str | None = None,
    **labels: str,
) -> Figure:
    """Return a chart with the texts of `figure.NAME` in the catalogs: title, caption, x, y."""
    ident = ident or f"{name.replace('_', '-')}-chart"
    title = catalog(f"figure.{name}.title") if title is None else title
    caption = catalog(f"figure.{name}.caption") if caption is None else caption
    for axis in ("x", "y"):
        if catalog.has(key := f"figure.{name}.{axis}"):
            labels.setdefault(f"{axis}_label", catalog(key))
    texts = chart_texts(catalog)
    svg = draw(ident=ident, title=title, description=caption, catalog=texts, **labels)
    return Figure(ident, title, caption, svg, table)


def chart_texts(catalog: Catalog) -> ChartTexts:
    """Return the texts of charts."""
    names = [each.name for each in fields(ChartTexts) if each.name != "language"]
    texts = {name: catalog.sentences[f"chart.{name}"] for name in names}
    return ChartTexts(language=catalog.language, **texts)


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
            return chart_block(
                block.svg,
                table_html(block.table),
                block.ident,
                chart_texts(catalog),
                title=block.title,
                caption=block.caption,
            )
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


# --- as Markdown ----------------------------------------------------------------------------------


def section_markdown(found: Section) -> str:
    """Return a section with its tables."""
    parts = [f"## {markdown_text(found.title)}", markdown_text(found.lead)]
    parts += [_block_markdown(block) for block in found.blocks]
    return "\n\n".join(parts)


def _block_markdown(block: Block) -> str:
    match block:
        case Figure():
            return f"{markdown_text(block.caption)}\n\n{_titled(block.table)}"
        case Partial():
            return _titled(block.table)
        case SideBySide():
            return "\n\n".join(_block_markdown(figure) for figure in block.figures)
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

"""A chart on the page: caption, drawing, export buttons, the table behind it. Draws nothing."""

from __future__ import annotations

from greffe.report.charts.shapes import ENGLISH, ChartTexts
from greffe.report.charts.svg import element, escape


def chart_block(
    svg: str,
    table_html: str,
    ident: str,
    catalog: ChartTexts = ENGLISH,
    *,
    title: str = "",
    caption: str = "",
) -> str:
    """A figure; `svg` and `table_html` are taken as they are, everything else is escaped.

    The page's script shows the buttons, which do nothing without it.
    """
    heading = element("strong", escape(title)) if title else ""
    said = " ".join(part for part in (heading, escape(caption)) if part)
    buttons = "".join(
        element(
            "button",
            escape(label),
            type="button",
            class_="export",
            data_format=form,
            aria_label=catalog.save.format(title=title, format=label),
            hidden="",
        )
        for form, label in _formats(svg, table_html, catalog)
    )
    parts = [
        element("figcaption", said) if said else "",
        svg,
        element("div", buttons, class_="exports") if buttons else "",
        _data(table_html, title or catalog.data, catalog),
    ]
    return element("figure", "".join(parts), class_="chart-block", id=f"{ident}-figure")


def _formats(svg: str, table_html: str, catalog: ChartTexts) -> list[tuple[str, str]]:
    drawn = [("svg", catalog.save_svg), ("png", catalog.save_png)] if "<svg" in svg else []
    return drawn + ([("csv", catalog.save_csv)] if table_html else [])


def _data(table_html: str, name: str, catalog: ChartTexts) -> str:
    if not table_html:
        return ""
    summary = element("summary", escape(catalog.data))
    # What can be scrolled must be reached by keyboard, and have a name then.
    scroll = element(
        "div", table_html, class_="scroll", role="region", tabindex="0", aria_label=name
    )
    return element("details", summary + scroll, class_="data")

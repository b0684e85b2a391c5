"""Tables: one definition as HTML, Markdown and CSV, with raw values and safe texts."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from tests.unit.report.parsed_page import read_csv

from greffe.report.catalog import load_catalog
from greffe.report.report_table import (
    Column,
    Table,
    TableBuilder,
    cell,
    scrolling_html,
    table_html,
    table_markdown,
)


def small_table() -> Table:
    """A table with a text that must be escaped, an interval and a missing value."""
    columns = [
        Column("name & co", ("name",), is_number=False),
        Column("interval", ("low", "high")),
        Column("seen", ("seen",)),
    ]
    rows = [
        [cell("<b>|x|</b>"), cell("1 to 2", 0.01, 0.02), cell("–", None)],
        [cell("a\nb", "raw, text"), cell("3 to 4", 0.03, 0.04), cell("5", 5)],
    ]
    return Table("small", 'A "small" table', columns, rows, frozenset({1}))


def test_html_escapes_and_heads_rows_and_columns() -> None:
    tree = ElementTree.fromstring(table_html(small_table()))
    assert tree.findtext("caption") == 'A "small" table'
    assert [head.text for head in tree.findall("thead/tr/th")] == ["name & co", "interval", "seen"]
    assert [head.get("scope") for head in tree.findall("tbody/tr/th")] == ["row", "row"]
    assert tree.findtext("tbody/tr/th") == "<b>|x|</b>"


def test_html_carries_raw_figures_and_marks_totals() -> None:
    tree = ElementTree.fromstring(table_html(small_table()))
    first, second = tree.findall("tbody/tr")
    assert [one.get("data-value") for one in first.findall("td")] == ["0.01 0.02", ""]
    assert (first.get("class"), second.get("class")) == (None, "total")


def test_a_wide_table_scrolls_in_a_named_region_that_takes_the_keyboard() -> None:
    region = ElementTree.fromstring(scrolling_html(small_table()))
    assert region.get("tabindex") == "0"
    assert region.get("aria-label") == 'A "small" table'


def test_markdown_keeps_its_columns() -> None:
    lines = table_markdown(small_table()).splitlines()
    assert lines == [
        "| name &amp; co | interval | seen |",
        "| --- | ---: | ---: |",
        r"| \<b\>\|x\|\</b\> | 1 to 2 | – |",
        "| a b | 3 to 4 | 5 |",
    ]


def test_csv_has_raw_values_under_their_names() -> None:
    assert read_csv(small_table()) == [
        {"name": "<b>|x|</b>", "low": "0.01", "high": "0.02", "seen": ""},
        {"name": "raw, text", "low": "0.03", "high": "0.04", "seen": "5"},
    ]


def test_a_row_that_does_not_fit_its_columns_is_our_bug() -> None:
    with pytest.raises(AssertionError):
        Table("bad", "", [Column("x", ("low", "high"))], [[cell("1", 1)]])


# --- built column by column -----------------------------------------------------------------------


def test_a_builder_makes_a_row_an_item() -> None:
    catalog = load_catalog("fr")
    table = TableBuilder([0.5, 0.25], catalog)
    table.text("name", lambda x: f"<{x}>", lambda x: int(100 * x))
    table.percent("accuracy", lambda x: x)
    table.optional("value", lambda x: None if x < 0.5 else x, catalog.points)
    table.interval(lambda x: (x, 1.0), prefix="x_")
    table.seeds(lambda x: [x, x])
    table.add("own", lambda x: cell("y", x), written="Own heading")
    built = table.build("arms")
    assert built.title == catalog("table.arms")
    assert [column.heading for column in built.columns] == [
        *(catalog(f"column.{name}") for name in ("name", "accuracy", "value", "interval")),
        *(catalog("column.values"), "Own heading"),
    ]
    first, second = read_csv(built)
    assert first == {
        "name": "50",
        "accuracy": "0.5",
        "value": "0.5",
        "x_low": "0.5",
        "x_high": "1.0",
        "by_seed": "0.5 0.5",
        "own": "0.5",
    }
    assert second["value"] == ""
    assert [one.shown for one in built.rows[1]][:3] == [
        "<0.25>",
        catalog.percent(0.25),
        catalog("number.none"),
    ]


def test_a_builder_without_items_has_its_columns() -> None:
    table: TableBuilder[float] = TableBuilder([], load_catalog("en"))
    table.percent("accuracy", lambda x: x)
    assert (len(table.build("arms").columns), table.build("arms").rows) == (1, [])

"""Pages, tables and catalogs as tests read them."""

from __future__ import annotations

import csv
import io
import string
from collections.abc import Callable
from html.parser import HTMLParser

from greffe.report.catalog import Catalog
from greffe.report.report_table import Table, table_csv

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Every element of a page; fails if one is not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def read_csv(table: Table) -> list[dict[str, str]]:
    """Return the rows of a table written as CSV."""
    return list(csv.DictReader(io.StringIO(table_csv(table))))


def echo_catalog(catalog: Catalog, is_echoed: Callable[[str], bool]) -> Catalog:
    """Return the catalog with the chosen sentences replaced by their ids and values."""

    def echo(key: str, sentence: str) -> str:
        if not is_echoed(key):
            return sentence
        names = [name for _, name, _, _ in string.Formatter().parse(sentence) if name]
        return "\t".join([key, *(f"{name}={{{name}}}" for name in names)])

    return Catalog(
        catalog.language, {key: echo(key, text) for key, text in catalog.sentences.items()}
    )

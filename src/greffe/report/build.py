"""Write the report of a study or of runs: HTML, Markdown, CSV tables and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from greffe.report.catalog import Catalog, load_catalog
from greffe.report.number_format import Language
from greffe.report.page import Page, page_html, page_markdown
from greffe.report.report_table import Table, table_csv
from greffe.report.run_page import named_apart, run_tables, runs_page
from greffe.report.study_page import study_page, study_tables
from greffe.storage import disk_error, write_atomic, write_json
from greffe.study.document import StudyDocument
from greffe.study.folder import StudyDirectory
from greffe.study.run_document import RunDocument

HTML_FILE = "report.html"
MARKDOWN_FILE = "report.md"
JSON_FILE = "report.json"
TABLES = "tables"


def write_study_report(document: StudyDocument, folder: Path, *, language: Language = "en") -> Path:
    """Write a study's report in `folder` and return the path of the page."""
    catalog = load_catalog(language)
    page = study_page(document, catalog)
    _write(page, study_tables(document, catalog), catalog, folder)
    target = StudyDirectory(folder)
    if not target.is_study:  # a study's own folder holds the document already
        target.write_document(document)
    return folder / HTML_FILE


def write_runs_report(
    runs: Sequence[RunDocument], folder: Path, *, language: Language = "en"
) -> Path:
    """Write a page about plain runs, side by side, and return its path."""
    catalog = load_catalog(language)
    runs = named_apart(runs)
    _write(runs_page(runs, catalog), run_tables(runs, catalog), catalog, folder)
    write_json(folder / JSON_FILE, [run.model_dump(mode="json") for run in runs])
    return folder / HTML_FILE


def _write(page: Page, tables: Sequence[Table], catalog: Catalog, folder: Path) -> None:
    try:
        (folder / TABLES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, folder) from error
    for table in tables:
        _write_text(folder / TABLES / f"{table.name}.csv", table_csv(table))
    _write_text(folder / MARKDOWN_FILE, page_markdown(page))
    _write_text(folder / HTML_FILE, page_html(page, catalog))


def _write_text(path: Path, text: str) -> None:
    # A lone surrogate, from a file that was not UTF-8, cannot be encoded.
    write_atomic(path, text.encode("utf-8", "backslashreplace"))

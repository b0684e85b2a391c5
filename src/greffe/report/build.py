"""Write the report of a study or of runs: HTML, Markdown, CSV tables and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from greffe.errors import RunExistsError
from greffe.report.catalog import Catalog, load_catalog
from greffe.report.number_format import Language
from greffe.report.page import Page, page_html, page_markdown
from greffe.report.report_table import Table, table_csv
from greffe.report.run_page import named_apart, run_tables, runs_page
from greffe.report.study_page import study_page, study_tables
from greffe.storage import (
    check_writable,
    disk_error,
    read_file,
    remove_leftovers,
    write_atomic,
    write_json,
)
from greffe.study.document import StudyDocument
from greffe.study.folder import StudyDirectory
from greffe.study.run_document import RunDocument

HTML_FILE = "report.html"
MARKDOWN_FILE = "report.md"
JSON_FILE = "report.json"
TABLES = "tables"
GENERATOR = b'<meta name="generator" content="greffe '
"""In the head of every page: a report.html without it is the user's and is never replaced."""


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


def check_report_folder(folder: Path, study: StudyDirectory | None = None) -> None:
    """Raise an error unless a report may be written to `folder`; change nothing.

    The folder of the study itself is always fine. In any other one, a report that greffe wrote is
    replaced, but neither another study's results nor a user's files.
    """
    check_writable(folder)
    if study is not None and folder.resolve() == study.path.resolve():
        return
    if StudyDirectory(folder).is_study:
        raise RunExistsError(
            f"{folder} holds another study, whose results the report would replace.",
            expected="the folder of the study itself, a run, or any other folder",
            hint="choose another --out",
        )
    there = [name for name in (HTML_FILE, MARKDOWN_FILE, JSON_FILE) if (folder / name).exists()]
    if there and not _is_report(folder / HTML_FILE):
        raise RunExistsError(
            f"{folder} holds files that greffe did not write.",
            expected=f"a folder without {', '.join(there)}",
            hint="choose another --out",
        )


def _is_report(path: Path) -> bool:
    return path.exists() and GENERATOR in read_file(path, "a report of greffe")


def _write(page: Page, tables: Sequence[Table], catalog: Catalog, folder: Path) -> None:
    try:
        (folder / TABLES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, folder) from error
    for place in (folder, folder / TABLES):
        remove_leftovers(place)
    # The page is first: it marks the others as written by greffe.
    _write_text(folder / HTML_FILE, page_html(page, catalog))
    _write_text(folder / MARKDOWN_FILE, page_markdown(page))
    for table in tables:
        _write_text(folder / TABLES / f"{table.name}.csv", table_csv(table))


def _write_text(path: Path, text: str) -> None:
    # A lone surrogate, from a file that was not UTF-8, cannot be encoded.
    write_atomic(path, text.encode("utf-8", "backslashreplace"))

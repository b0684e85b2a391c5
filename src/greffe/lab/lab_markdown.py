"""The lab's page as Markdown with its charts as files: the source of docs/lab.md.

Knows blocks and charts, nothing of what they show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path

from greffe.lab.lab_document import LabDocument
from greffe.lab.lab_page import lab_catalog, lab_page
from greffe.report.blocks import Block, Figure, SideBySide
from greffe.report.page import page_markdown
from greffe.storage import disk_error, write_atomic

MARKDOWN_FILE = "lab.md"
FIGURES = "lab"
ORIGIN = "Written by `greffe lab --docs docs`; every number comes from that run."
_SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
# Rules at the beginning of a line; those for dark pages, phones and paper are indented.
_RULE = re.compile(r"^(?::root|\.s\d|svg\.chart [^{]*?) \{.*?\}", re.DOTALL | re.MULTILINE)
_FONT = "svg { font-family: system-ui, sans-serif; background: #ffffff; }"


def write_lab_markdown(document: LabDocument, folder: Path) -> Path:
    """Write `lab.md` in `folder`, in English, and its figures in a folder beside it."""
    page = lab_page(document, lab_catalog("en"))
    try:
        (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, folder) from error
    for section in page.sections:
        for figure in _figures(section.blocks):
            write_atomic(folder / FIGURES / f"{figure.ident}.svg", standalone(figure.svg).encode())
    title, rest = page_markdown(replace(page, footer=""), FIGURES).split("\n\n", 1)
    path = folder / MARKDOWN_FILE
    write_atomic(path, f"{title}\n\n{ORIGIN}\n\n{rest}".encode())
    return path


def _figures(blocks: Iterable[Block]) -> Iterator[Figure]:
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, SideBySide):
            yield from block.figures


def standalone(svg: str) -> str:
    """Return the chart with the rules of the light theme in it, independent of a page."""
    drawing = _SVG.search(svg)
    assert drawing is not None
    head, body = drawing[0].split(">", 1)
    sheet = resources.files("greffe.report") / "assets" / "report.css"
    style = "\n".join([_FONT, *_RULE.findall(sheet.read_text("utf-8"))])
    return f"{head}><style>{style}</style>{body}\n"

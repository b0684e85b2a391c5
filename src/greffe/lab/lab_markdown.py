"""The lab's page as Markdown with its charts as files: the source of docs/lab.md.

Knows blocks and charts, nothing of what they show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import assert_never

from greffe.lab.lab_document import LabDocument
from greffe.lab.lab_page import lab_catalog, lab_page
from greffe.report.blocks import Block, Code, Figure, Partial, Prose, SideBySide
from greffe.report.report_table import Table, markdown_text, table_markdown
from greffe.storage import disk_error, write_atomic

MARKDOWN_FILE = "lab.md"
FIGURES = "lab"
_DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
# Rules at the beginning of a line; those for dark pages, phones and paper are indented.
_RULE = re.compile(r"^(?::root|\.s\d|svg\.chart [^{]*?) \{.*?\}", re.DOTALL | re.MULTILINE)
_FONT = "svg { font-family: system-ui, sans-serif; background: #ffffff; }"


def write_lab_markdown(document: LabDocument, folder: Path) -> Path:
    """Write `lab.md` in `folder`, in English, and its figures in a folder beside it."""
    catalog = lab_catalog("en")
    page = lab_page(document, catalog)
    try:
        (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, folder) from error
    parts = [
        f"# {markdown_text(page.title)}",
        "Written by `greffe lab --docs docs`; every number comes from that run.",
        f"**{markdown_text(page.headline)}**",
        "\n".join(f"- {markdown_text(sentence)}" for sentence in page.sentences),
        markdown_text(page.about),
    ]
    for section in page.sections:
        parts += [f"## {markdown_text(section.title)}", markdown_text(section.lead)]
        parts += [_block(block) for block in section.blocks]
        for figure in _figures(section.blocks):
            write_atomic(folder / FIGURES / f"{figure.ident}.svg", _alone(figure).encode())
    path = folder / MARKDOWN_FILE
    write_atomic(path, ("\n\n".join(parts) + "\n").encode())
    return path


def _block(block: Block) -> str:
    match block:
        case Figure():
            title = markdown_text(block.title)
            picture = f"![{title}]({FIGURES}/{block.ident}.svg)"
            return f"**{title}.** {markdown_text(block.caption)}\n\n{picture}"
        case SideBySide():
            return "\n\n".join(_block(figure) for figure in block.figures)
        case Table():
            return f"**{markdown_text(block.title)}**\n\n{table_markdown(block)}"
        case Prose():
            return markdown_text(block.text)
        case Code():
            return f"**{markdown_text(block.title)}**\n\n```\n{block.text}\n```"
        case Partial():
            return table_markdown(block.table)
        case _:
            assert_never(block)


def _figures(blocks: Iterable[Block]) -> Iterator[Figure]:
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, SideBySide):
            yield from block.figures


def _alone(figure: Figure) -> str:
    """Return the chart's first layout with the light colors in it, independent of a page."""
    drawing = _DRAWING.search(figure.svg)
    assert drawing is not None
    head, body = drawing[0].split(">", 1)
    return f"{head}><style>{_style()}</style>{body}\n"


def _style() -> str:
    sheet = resources.files("greffe.report") / "assets" / "report.css"
    return "\n".join([_FONT, *_RULE.findall(sheet.read_text("utf-8"))])

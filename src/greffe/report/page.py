"""The page: sections below a verdict, in one self-contained HTML file, and as Markdown.

Style and script are inline; a policy in the head forbids any other script and any request. Knows
sections, not what they are about.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from greffe import __version__
from greffe.display import markdown_text
from greffe.report.blocks import Section, block_html, section_markdown, templates
from greffe.report.catalog import Catalog


@dataclass(frozen=True)
class Page:
    """Everything that is on a page."""

    title: str
    headline: str
    sentences: Sequence[str]
    about: str
    """What was measured, in one line."""
    sections: Sequence[Section]
    footer: str


def page_html(page: Page, catalog: Catalog) -> str:
    """Return the page as one file."""
    assets = resources.files("greffe.report") / "assets"
    style = (assets / "report.css").read_text("utf-8")
    script = (assets / "report.js").read_text("utf-8")
    return (
        templates()
        .get_template("page.html.j2")
        .render(
            catalog=catalog,
            version=__version__,
            page=page,
            html=block_html,
            style=style,
            script=script,
            policy=_policy(script),
        )
    )


def page_markdown(page: Page, drawings: str = "") -> str:
    """Return the page as Markdown; figures link to `drawings`, a folder, or are tables."""
    sentences = "\n".join(f"- {markdown_text(sentence)}" for sentence in page.sentences)
    parts = [
        f"# {markdown_text(page.title)}",
        f"**{markdown_text(page.headline)}**",
        sentences,
        markdown_text(page.about),
        *(section_markdown(section, drawings) for section in page.sections),
        markdown_text(page.footer),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Drawings are exported through images of their own data; their styles are attributes.
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )

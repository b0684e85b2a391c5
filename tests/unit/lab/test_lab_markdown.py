"""docs/lab.md: every picture that the text names exists and needs no page."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from greffe.lab.lab_document import LabDocument
from greffe.lab.lab_markdown import write_lab_markdown


def test_text_and_pictures_belong_together(document: LabDocument, tmp_path: Path) -> None:
    path = write_lab_markdown(document, tmp_path / "docs")
    text = path.read_text("utf-8")
    named = set(re.findall(r"\]\((lab/[\w-]+\.svg)\)", text))
    written = {str(file.relative_to(path.parent)) for file in path.parent.glob("lab/*")}
    assert len(named) >= 9
    assert named == written
    assert "| base | " in text and "10,968,200" in text


def test_a_picture_brings_its_colours(document: LabDocument, tmp_path: Path) -> None:
    write_lab_markdown(document, tmp_path)
    for file in (tmp_path / "lab").iterdir():
        drawing = ElementTree.fromstring(file.read_text("utf-8"))
        style = drawing.find("{http://www.w3.org/2000/svg}style")
        assert style is not None and style.text is not None
        used = set(re.findall(r"var\((--[\w-]+)\)", style.text))
        set_here = set(re.findall(r"(--[\w-]+):", style.text))
        assert used <= set_here
        assert "--series-1: #1450c8" in style.text
        assert "data-theme" not in style.text

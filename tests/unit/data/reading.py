"""Write a table and read it as documents, examples or texts."""

from __future__ import annotations

from pathlib import Path

from greffe.config.options import Reading
from greffe.data.tables import Example, read_examples
from greffe.data.text import read_documents
from greffe.data.text_rows import open_text_rows


def written(path: Path, data: str | bytes) -> str:
    """Write a file, with its folders, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


def documents(source: str | Path, **options: object) -> list[str]:
    """Return the documents of a source."""
    return list(read_documents(str(source), Reading(**options)))  # type: ignore[arg-type]


def examples(source: str | Path, **options: str) -> list[Example]:
    """Return the labelled texts of a source."""
    return list(read_examples(source, Reading(**options)))  # type: ignore[arg-type]


def texts(source: str | Path, **options: str) -> list[str]:
    """Return all texts of a source."""
    rows = open_text_rows(source, Reading(**options)).rows  # type: ignore[arg-type]
    return [row.text for row in rows]

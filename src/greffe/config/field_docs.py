"""The docstrings under the fields of a class: their help texts.

They are read from the source when they are asked for; a command without help does not pay for it.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache
from itertools import pairwise
from pathlib import Path


def field_docs(cls: type) -> dict[str, str]:
    """Return the docstring under each field of a class, without those of its bases."""
    return _docs_in(inspect.getsourcefile(cls) or "")[cls.__name__]


@cache
def _docs_in(path: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of fields by class, for all classes of a source file."""
    nodes = ast.walk(ast.parse(Path(path).read_text("utf-8")))
    return {node.name: _docs_of(node) for node in nodes if isinstance(node, ast.ClassDef)}


def _docs_of(node: ast.ClassDef) -> dict[str, str]:
    docs = {}
    for statement, following in pairwise(node.body):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            match following:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    docs[statement.target.id] = " ".join(text.split())
    return docs

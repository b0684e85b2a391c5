"""The notebook of the examples: its stored outputs, and what it does from any folder.

`jupyter execute --inplace examples/export.ipynb` stores new outputs.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

import greffe

NOTEBOOK = Path(__file__).parents[2] / "examples" / "export.ipynb"
LARGEST_BYTES = 200_000
CELL_SECONDS = 300


def outputs(notebook: NotebookNode) -> list[tuple[str, list[str]]]:
    """Return the kinds of outputs of each code cell, with the types of their data."""
    return [
        (output.output_type, sorted(output.get("data", {})) or [output.get("name", "")])
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]


def test_the_notebook_is_stored_as_it_was_executed() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    found = outputs(notebook)
    assert {kind for kind, _ in found} == {"stream", "execute_result", "display_data"}
    assert ("stream", ["stderr"]) not in found
    assert NOTEBOOK.stat().st_size < LARGEST_BYTES


@pytest.mark.slow
def test_the_notebook_runs_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    stored = outputs(notebook)
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("PYTHONPATH", str(Path(greffe.__file__).parents[1]))
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(here)}},
    )
    client.execute()  # a cell that fails is an error
    assert outputs(notebook) == stored
    assert [*here.iterdir(), *temporary.glob("greffe*")] == []  # torch leaves a cache of its own

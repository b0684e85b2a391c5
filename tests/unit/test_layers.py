"""Import contracts of pyproject.toml: they hold, and a violation is reported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = (
    "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
)


def check_contracts(folder: Path) -> subprocess.CompletedProcess[str]:
    """The contracts in a folder's pyproject.toml, checked against that folder's src."""
    return run_python(LINT, folder)


def run_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package and its contracts, to break."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "greffe", tmp_path / "src" / "greffe", ignore=ignored)
    return tmp_path


def test_the_contracts_hold() -> None:
    checked = check_contracts(ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("module", "forbidden", "contract"),
    [
        ("config", "greffe.run", "Imports go down only"),
        ("model/base", "greffe.data.sampler", "The model does not know the data"),
        ("training/optim", "greffe.evaluation.metrics", "Training knows neither evaluation"),
        ("training/optim", "greffe.inference.generate", "Training knows neither evaluation"),
        ("data/text", "torch", "What worker processes load does without torch"),
        ("inference/predict", "greffe.training.distributed", "Using a run does without"),
    ],
)
def test_a_violation_is_reported(copy: Path, module: str, forbidden: str, contract: str) -> None:
    with (copy / "src" / "greffe" / f"{module}.py").open("a", encoding="utf-8") as file:
        file.write(f"\nimport {forbidden}\n")
    checked = check_contracts(copy)
    assert checked.returncode == 1
    broken = [line for line in checked.stdout.splitlines() if line.endswith("BROKEN")]
    assert any(line.startswith(contract) for line in broken), checked.stdout


def test_a_new_package_must_be_given_a_layer(copy: Path) -> None:
    (copy / "src" / "greffe" / "attic.py").write_text("", "utf-8")
    checked = check_contracts(copy)
    assert checked.returncode == 1
    assert "attic" in checked.stdout


@pytest.mark.parametrize("module", ["text", "tables", "tokenizer", "shards"])
def test_worker_processes_do_not_load_torch(module: str) -> None:
    """The contract reads the source; this checks what a process has loaded."""
    code = f"import sys, greffe.data.{module}; print('torch' in sys.modules)"
    loaded = run_python(code, ROOT)
    assert loaded.stdout.strip() == "False", loaded.stdout + loaded.stderr

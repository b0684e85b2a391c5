"""The wheel is complete: built, installed into an empty environment, and used from there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import greffe

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "greffe"


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command without this checkout's environment and return its output."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=clean, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment that holds the wheel and nothing of this checkout.

    The dependencies are read from the environment of the tests. A path in a `.pth` file does not
    execute the `.pth` files in that folder, so the editable install of greffe stays invisible.
    """
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(PACKAGE, source / "src" / "greffe", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    run(*pip, "wheel", source, "--no-deps", "--no-build-isolation", "-w", folder, cwd=folder)
    (wheel,) = folder.glob("greffe-*.whl")
    home = folder / "environment"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    run(*pip, "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    site = Path(
        run(
            python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder
        ).strip()
    )
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    return home


@pytest.mark.slow
def test_every_data_file_is_installed(environment: Path) -> None:
    file = run(
        environment / "bin" / "python",
        "-c",
        "import greffe; print(greffe.__file__)",
        cwd=environment,
    )
    installed = Path(file.strip()).parent
    assert installed.is_relative_to(environment)
    expected = {
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert Path("bases/greffe-fr/weights.safetensors") in expected
    assert {path for path in expected if not (installed / path).is_file()} == set()


@pytest.mark.slow
def test_the_installed_command_works(environment: Path, tmp_path: Path) -> None:
    command = environment / "bin" / "greffe"
    assert greffe.__version__ in run(command, "--version", cwd=tmp_path)
    assert "--out" in run(command, "demo", "--help", cwd=tmp_path)
    assert "8,062,208" in run(command, "show", "greffe-fr", cwd=tmp_path)
    assert "Bonjour" in run(
        command, "generate", "greffe-fr", "Bonjour", "--tokens", "2", cwd=tmp_path
    )


@pytest.mark.slow
def test_the_demo_and_its_data_import(environment: Path, tmp_path: Path) -> None:
    code = """
import greffe.demo, greffe.report.build
from greffe.samples.reviews import reviews
print(len(reviews("train")), [name for name in greffe.__all__ if getattr(greffe, name) is None])
"""
    assert run(environment / "bin" / "python", "-c", code, cwd=tmp_path).strip() == "500 []"

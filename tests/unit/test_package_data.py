"""What the package needs besides its code is installed with it: no file without a pattern."""

from __future__ import annotations

import glob
import tomllib
from pathlib import Path

import greffe

PACKAGE = Path(greffe.__file__).parent
ROOT = Path(__file__).parents[2]


def installed(package: Path) -> set[str]:
    """The data files that the patterns in pyproject.toml find in a package."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    assert settings["package-data"].keys() == {"greffe"}
    patterns = settings["package-data"]["greffe"]
    return {name for pattern in patterns for name in glob.glob(pattern, root_dir=package)}


def test_every_data_file_is_installed() -> None:
    files = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert files - installed(PACKAGE) == set()
    parts = ("train.tsv", "valid.tsv", "test.tsv", "unlabelled.txt", "README.md", "LICENSE")
    assert {f"samples/reviews_fr/{part}" for part in parts} <= files


def test_a_base_would_be_installed(tmp_path: Path) -> None:
    folder = tmp_path / "bases" / "some-base"
    folder.mkdir(parents=True)
    for name in ("run.json", "recipe.toml", "tokenizer.json", "weights.safetensors", "README.md"):
        (folder / name).touch()
    assert len(installed(tmp_path)) == 5


def test_data_folders_are_no_packages() -> None:
    """Otherwise a pattern of `greffe` would have to be one of theirs."""
    assert not list((PACKAGE / "samples" / "reviews_fr").glob("*.py"))
    assert not list(PACKAGE.glob("bases/**/*.py"))

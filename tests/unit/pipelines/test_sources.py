"""Sources of a base: runs as before, other formats through the cache."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import huggingface_hub
import pytest

from greffe.errors import InputError, RunError
from greffe.pipelines.sources import is_foreign, open_base, open_source
from greffe.run import RunDirectory, imports_folder
from greffe.storage import file_hash

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own."""
    monkeypatch.setenv("GREFFE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "imports"


def test_a_run_is_opened_as_before(fresh_run: Callable[..., RunDirectory], cache: Path) -> None:
    run = fresh_run("base")
    assert open_base(run.path).path == run.path
    assert open_base(run) is run
    assert not open_source("greffe-fr").path.is_relative_to(cache)
    assert not cache.exists()


def test_a_folder_is_imported_once(
    tiny_bert: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {file.name: file_hash(file) for file in tiny_bert.iterdir()}
    run = open_base(tiny_bert)
    assert run.path.parent == cache == imports_folder()
    assert "is kept as a run in" in capsys.readouterr().err
    again = open_base(str(tiny_bert))
    assert again.path == run.path
    assert not capsys.readouterr().err
    assert [item.name for item in cache.iterdir()] == [run.path.name]
    assert before == {file.name: file_hash(file) for file in tiny_bert.iterdir()}


def test_the_name_is_that_of_the_source(tiny_bert: Path) -> None:
    run = open_base(tiny_bert)
    assert run.name == str(tiny_bert)
    assert (run.path / "README.md").read_text().splitlines()[2] == "# tiny-bert"


def test_changed_files_are_imported_again(tmp_path: Path, tiny_bert: Path) -> None:
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "bert"))
    first = open_base(folder)
    with (folder / "config.json").open("a") as file:
        file.write("\n")
    assert open_base(folder).path != first.path


def test_an_import_that_was_killed_is_made_again(tiny_bert: Path, cache: Path) -> None:
    run = open_base(tiny_bert)
    shutil.rmtree(run.path)
    leftover = cache / f".{run.path.name}.999999999.tmp"
    leftover.mkdir()
    (leftover / "weights.safetensors").write_bytes(b"half")
    assert open_base(tiny_bert).path == run.path
    assert [item.name for item in cache.iterdir()] == [run.path.name]


def test_a_bad_folder_leaves_nothing_in_the_cache(
    tmp_path: Path, tiny_bert: Path, cache: Path
) -> None:
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "bert"))
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="no tokenizer"):
        open_base(folder)
    assert not cache.exists()


def test_a_model_of_the_hub(
    tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = Path(shutil.copytree(tiny_bert, tmp_path / "snapshots" / COMMIT))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(snapshot))
    run = open_base(Path("hf:owner/name@v1"))  # as the command line passes it
    imported = run.manifest().imported
    assert imported is not None
    assert (imported.source, imported.revision) == ("hf:owner/name@v1", COMMIT)
    assert run.name == "hf:owner/name@v1"
    assert run.recipe().name == "name"


@pytest.mark.parametrize("present", ["config.json", "model.safetensors", "pytorch_model.bin"])
def test_what_looks_like_a_model_of_another_format(tmp_path: Path, present: str) -> None:
    assert not is_foreign(tmp_path)
    (tmp_path / present).touch()
    assert is_foreign(tmp_path)


def test_other_folders_are_errors_as_before(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is not a run"):
        open_base(tmp_path)
    with pytest.raises(RunError, match="There is no run"):
        open_base(tmp_path / "none")


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GREFFE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert imports_folder() == tmp_path / "xdg" / "greffe" / "imports"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert imports_folder() == tmp_path / ".cache" / "greffe" / "imports"

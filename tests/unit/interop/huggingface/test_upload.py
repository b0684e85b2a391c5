"""Uploading a folder, with a stand-in for the library's client."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import huggingface_hub
import pytest
from huggingface_hub import errors

import greffe
from greffe.errors import InputError, MissingExtraError
from greffe.interop.huggingface.upload import push_to_hub
from greffe.run import RunDirectory

REQUEST = httpx2.Request("POST", "http://localhost")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """What the client was asked for; an error put here under "error" is raised."""
    asked: dict[str, Any] = {}

    class FakeApi:
        def create_repo(self, name: str, **options: Any) -> str:
            asked["create"] = {"name": name, **options}
            if "error" in asked:
                raise asked["error"]
            return f"https://hub.example/{name}"

        def upload_folder(self, **options: Any) -> None:
            asked["upload"] = options

    monkeypatch.setattr(huggingface_hub, "HfApi", FakeApi)
    return asked


@pytest.mark.parametrize("private", [True, False])
def test_the_folder_is_uploaded(folder: Path, calls: dict[str, Any], private: bool) -> None:
    address = push_to_hub(folder, "owner/my-model.v2", private=private)
    assert address == "https://hub.example/owner/my-model.v2"
    assert calls["create"]["private"] is private
    assert calls["create"]["exist_ok"] is True
    assert calls["upload"]["repo_id"] == "owner/my-model.v2"
    assert calls["upload"]["folder_path"] == folder


@pytest.mark.parametrize("name", ["", "model", "a/b/c", "owner/", "a b/c", "hf:owner/name", "../x"])
def test_what_is_no_name(folder: Path, calls: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, match="not the name of a repository"):
        push_to_hub(folder, name)
    assert not calls


def test_a_wrong_name_is_refused_before_anything_is_written(
    fresh_run: Callable[..., RunDirectory], tmp_path: Path, calls: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="not the name of a repository"):
        greffe.export(fresh_run("run"), tmp_path / "exported", push="name")
    assert not (tmp_path / "exported").exists()


def test_an_export_is_uploaded(
    fresh_run: Callable[..., RunDirectory], tmp_path: Path, calls: dict[str, Any]
) -> None:
    folder = greffe.export(
        fresh_run("run"), tmp_path / "exported", format="huggingface", push="owner/name"
    )
    assert calls["upload"]["folder_path"] == folder
    assert (folder / "config.json").is_file()


def answer(status: int) -> errors.HfHubHTTPError:
    return errors.HfHubHTTPError("no", response=httpx2.Response(status, request=REQUEST))


@pytest.mark.parametrize(
    ("error", "match", "hint"),
    [
        (errors.LocalTokenNotFoundError("no token"), "requires a login", "hf auth login"),
        (answer(401), "does not allow you", "hf auth login"),
        (answer(403), "does not allow you", "owner's name"),
        (answer(500), "refused the upload", "still in the folder"),
        (errors.HFValidationError("too long"), "not the name of a repository", ""),
        (errors.OfflineModeIsEnabled("offline"), "cannot be reached", "still in the folder"),
        (httpx2.ConnectError("down"), "cannot be reached", "still in the folder"),
    ],
)
def test_errors_of_the_library_are_explained(
    folder: Path, calls: dict[str, Any], error: Exception, match: str, hint: str
) -> None:
    calls["error"] = error
    with pytest.raises(InputError, match=match) as caught:
        push_to_hub(folder, "owner/name")
    assert hint in (caught.value.hint or "")
    assert "upload" not in calls


def test_without_the_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError) as caught:
        push_to_hub(folder, "owner/name")
    assert caught.value.hint == 'pip install "greffe[hub]"'

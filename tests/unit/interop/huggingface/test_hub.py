"""Models of the hub, without a network: a stand-in for the library's function, or its cache."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import huggingface_hub
import pytest
from huggingface_hub import constants, errors

from greffe.errors import InputError, MissingExtraError
from greffe.interop.huggingface.hub import commit_of, download, is_hub_name

COMMIT = "0123456789abcdef0123456789abcdef01234567"
RESPONSE = httpx2.Response(404, request=httpx2.Request("GET", "http://localhost"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """What snapshot_download was asked for; the folder has whatever a test puts there."""
    calls: list[dict[str, Any]] = []

    def snapshot_download(name: str, **options: Any) -> str:
        calls.append({"name": name, **options})
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return calls


def _raising(error: Exception) -> Callable[..., str]:
    def snapshot_download(*args: object, **options: object) -> str:
        raise error

    return snapshot_download


def test_names() -> None:
    assert is_hub_name("hf:owner/name")
    assert not is_hub_name("runs/base")
    assert commit_of(Path("snapshots") / COMMIT) == COMMIT
    assert commit_of(Path("models/bert")) is None


@pytest.mark.parametrize(
    ("source", "name", "revision"),
    [
        ("hf:almanach/camembert-base", "almanach/camembert-base", None),
        ("hf:gpt2", "gpt2", None),
        ("hf:owner/na.me@v1.0", "owner/na.me", "v1.0"),
        ("hf:owner/name@refs/pr/3", "owner/name", "refs/pr/3"),
    ],
)
def test_the_name_and_the_revision_are_passed_on(
    asked: list[dict[str, Any]], tmp_path: Path, source: str, name: str, revision: str | None
) -> None:
    (tmp_path / "model.safetensors").touch()
    assert download(source) == tmp_path
    assert [(call["name"], call["revision"]) for call in asked] == [(name, revision)]
    assert "tokenizer.json" in asked[0]["allow_patterns"]
    assert not any(".bin" in pattern for pattern in asked[0]["allow_patterns"])


def test_torch_files_are_downloaded_if_there_is_nothing_else(
    asked: list[dict[str, Any]],
) -> None:
    download("hf:owner/name")
    assert len(asked) == 2
    assert "pytorch_model.bin" in asked[1]["allow_patterns"]


@pytest.mark.parametrize("source", ["hf:", "hf:a/b/c", "hf:a b", "hf:a/b@", "hf:/folder"])
def test_what_is_no_name(source: str) -> None:
    with pytest.raises(InputError, match="not the name of a model"):
        download(source)


@pytest.mark.parametrize(
    ("error", "match"),
    [
        (errors.GatedRepoError("gated", response=RESPONSE), "granted access"),
        (errors.RevisionNotFoundError("none", response=RESPONSE), "has no revision 'v9'"),
        (errors.RepositoryNotFoundError("none", response=RESPONSE), "There is no model owner/name"),
        (errors.LocalEntryNotFoundError("offline"), "the hub cannot be reached"),
        (httpx2.ProxyError("proxy"), "cannot be downloaded"),
        (PermissionError("no"), "cannot be downloaded"),
    ],
)
def test_errors_of_the_library_are_explained(
    monkeypatch: pytest.MonkeyPatch, error: Exception, match: str
) -> None:
    monkeypatch.setattr(huggingface_hub, "snapshot_download", _raising(error))
    with pytest.raises(InputError, match=match):
        download("hf:owner/name@v9")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError) as caught:
        download("hf:owner/name")
    assert caught.value.hint == 'pip install "greffe[hub]"'


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The library as it is with HF_HUB_OFFLINE=1, and its cache."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("source", ["hf:owner/name", "hf:owner/name@v1"])
def test_offline_and_not_in_the_cache(source: str) -> None:
    with pytest.raises(InputError, match="the hub cannot be reached") as caught:
        download(source)
    assert "HF_HUB_OFFLINE" in (caught.value.expected or "")


def test_offline_and_in_the_cache(offline: Path, tiny_bert: Path) -> None:
    folder = offline / "models--owner--name"
    shutil.copytree(tiny_bert, folder / "snapshots" / COMMIT)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT)
    found = download("hf:owner/name")
    assert commit_of(found) == COMMIT
    assert (found / "model.safetensors").is_file()

"""What tests of exported folders need: no waiting for the disk, a place for the code they bring."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are not flushed to the disk, which takes longer than a small export."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="module")
def code_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The cache of transformers for code, one of the tests."""
    import transformers.dynamic_module_utils as dynamic

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dynamic, "HF_MODULES_CACHE", str(tmp_path_factory.mktemp("modules")))
        yield

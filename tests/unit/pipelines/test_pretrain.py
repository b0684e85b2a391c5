"""Pretraining: contradictory flags, what a resumed run must have in common, and its lineage."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import greffe
from greffe.config.option_groups import flat_keywords
from greffe.errors import MismatchError, OutOfMemoryError, RecipeError
from greffe.model import memory
from greffe.pipelines import pretrain as pretrain_module
from greffe.progress import quiet
from greffe.samples.toy import toy_documents

pretrain = flat_keywords(pretrain_module.pretrain)

SHORT: dict[str, Any] = {"recipe": "tiny", "budget": "3steps", "changes": ["train.threads=1"]}


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(toy_documents(120, seed=0)), "utf-8")
    return path


@pytest.mark.parametrize(
    "choice",
    [
        {"vocab": 500},
        {"tokenizer": "greffe-fr"},
        {"lowercase": True},
        {"documents": "file"},
        {"valid": 0.2},
    ],
)
def test_a_prepared_corpus_takes_no_flags_of_prepare(
    choice: dict[str, Any], text: Path, tmp_path: Path
) -> None:
    with quiet():
        corpus = greffe.prepare(text, tmp_path / "corpus", vocab=400)
    with pytest.raises(RecipeError, match="a prepared corpus"):
        pretrain(corpus.path, tmp_path / "run", **SHORT, **choice)
    assert not (tmp_path / "run").exists()


def test_a_run_resumes_with_the_same_recipe_and_data(
    text: Path, tmp_path: Path, interrupted: Callable[[], AbstractContextManager[None]]
) -> None:
    with quiet():
        with interrupted():
            pretrain(text, tmp_path / "run", **SHORT)
        with pytest.raises(RecipeError, match="another recipe"):
            pretrain(text, tmp_path / "run", **{**SHORT, "budget": "5steps"}, resume=True)
        other = greffe.prepare(text, tmp_path / "other", vocab=600, valid=0.3)
        with pytest.raises(MismatchError, match="other data"):
            pretrain(other.path, tmp_path / "run", **SHORT, resume=True)
        resumed = pretrain(text, tmp_path / "run", **SHORT, resume=True)
        whole = pretrain(text, tmp_path / "whole", **SHORT)
    assert resumed.manifest().weights == whole.manifest().weights is not None


def test_the_lineage_has_data_and_size(text: Path, tmp_path: Path) -> None:
    with quiet():
        run = pretrain(text, tmp_path / "run", **SHORT)
    lineage = run.manifest().lineage
    assert lineage.parent is None and not lineage.vocabulary_transfer
    assert lineage.data.keys() == lineage.sizes.keys() == {"corpus"}
    assert "documents" in lineage.sizes["corpus"] and "tokens" in lineage.sizes["corpus"]


def test_what_does_not_fit_is_refused_before_a_folder_is_touched(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with quiet():
        run = pretrain(text, tmp_path / "run", **SHORT)
    before = run.manifest()
    monkeypatch.setattr(memory, "available_memory", lambda: 10**8)
    with pytest.raises(OutOfMemoryError, match="This training needs") as caught:
        pretrain(
            text,
            tmp_path / "run",
            **{**SHORT, "changes": ["train.threads=1", "train.batch=4096"]},
            overwrite=True,
        )
    assert "train.accumulation=" in str(caught.value.hint)
    assert run.manifest() == before


def test_a_vocabulary_that_does_not_fit_is_refused_once_it_is_known(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recipe's size is only the most that a tokenizer may get: a small text has fewer."""
    changes = ["train.threads=1", "tokenizer.vocab=1000000", "train.batch=1"]
    monkeypatch.setattr(memory, "available_memory", lambda: 10**8)
    with quiet():
        assert pretrain(text, tmp_path / "run", **{**SHORT, "changes": changes})
    monkeypatch.setattr(memory, "LIBRARIES", 10**8 - 800_000)
    monkeypatch.setattr(memory, "CERTAIN", 1.0)
    with quiet(), pytest.raises(OutOfMemoryError):
        pretrain(text, tmp_path / "other", **{**SHORT, "changes": changes})

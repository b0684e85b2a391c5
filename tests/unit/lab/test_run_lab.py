"""The lab with tiny settings: it runs, resumes after an interruption, and reads lab files."""

from __future__ import annotations

from pathlib import Path

import pytest

from greffe.errors import CorruptError, DataError, InterruptedRunError, RecipeError
from greffe.lab import run_lab as lab_run
from greffe.lab.inputs import LabSize
from greffe.lab.lab_document import LabDocument
from greffe.lab.lab_page import lab_catalog
from greffe.lab.run_lab import LAB_FILE, lab
from greffe.lab.tasks import TaskSize
from greffe.progress import quiet
from greffe.storage import read_json

TINY = LabSize(
    tasks=TaskSize(seeds=2, mask_steps=3, order_steps=3, chain_steps=3, rows=40, test_rows=5),
    documents=200,
    labels=16,
    valid=10,
    test=20,
    sample_seeds=2,
    sample_budget="4steps",
    epochs=1,
)


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "dict.txt").touch()
    with pytest.raises(DataError) as raised:
        lab(tmp_path / "out", lab_data=tmp_path / "files", size=TINY)
    assert "sentencepiece.french.model" in str(raised.value.found)
    assert "dict.txt" not in str(raised.value.found)


def test_a_corpus_for_the_sample_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="--corpus"):
        lab(tmp_path / "out", corpus=tmp_path / "wiki.txt", size=TINY)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("overwrite", "flags"), [(False, ""), (True, " without --overwrite")])
def test_the_lab_says_how_it_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool, flags: str
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise InterruptedRunError("stopped", hint="repeat the command with --resume")

    monkeypatch.setattr(lab_run, "_attention", stop)
    with quiet(), pytest.raises(InterruptedRunError) as caught:
        lab(tmp_path / "out", size=TINY, overwrite=overwrite)
    assert str(caught.value.hint).endswith(f"repeat the command{flags}")


@pytest.mark.slow
def test_the_lab_runs_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with quiet():
        with monkeypatch.context() as patched:
            patched.setattr(lab_run, "compare", stop)
            with pytest.raises(KeyboardInterrupt):
                lab(tmp_path, size=TINY)
        # Everything before the study is done: doing it again would fail.
        with monkeypatch.context() as patched:
            for task in ("mask_task", "order_task", "chain_task"):
                patched.setattr(lab_run, task, stop)
            found = lab(tmp_path, size=TINY, language="fr")
    assert LabDocument.model_validate(read_json(tmp_path / LAB_FILE, "lab")) == found
    assert {arm.name for arm in found.study.arms} >= {"pretrained", "scratch", "masked", "tfidf"}
    assert found.counting.targets.base == 10_968_200
    assert found.heads.shapes.next_token_scores[-1] == 50_001
    assert found.data.documents > 100
    page = (tmp_path / "lab.html").read_text("utf-8")
    assert lab_catalog("fr")("section.heads.title") in page
    assert (tmp_path / "study" / "report.html").exists()


def test_a_task_of_another_size_is_done_again(tmp_path: Path) -> None:
    size = TINY.tasks.model_copy(update={"seeds": 1, "mask_steps": 1, "order_steps": 1})
    first = lab_run._attention(tmp_path, lab_run.load_recipe("lab"), size, False)
    other = size.model_copy(update={"mask_steps": 2})
    second = lab_run._attention(tmp_path, lab_run.load_recipe("lab"), other, False)
    assert (first.mask.steps, second.mask.steps) == (1, 2)
    assert [matrix.title.id for matrix in first.pictures] == [
        "causal_mask",
        "bidirectional_mask",
        "sinusoidal_positions",
    ]


@pytest.mark.parametrize("content", ["[1]", "{}", '{"size": {}, "found": {}}', '{"size": 3}'])
def test_a_damaged_result_of_a_task_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "MaskTask.json").write_text(content)
    with pytest.raises(CorruptError, match=r"MaskTask\.json"):
        lab_run._attention(tmp_path, lab_run.load_recipe("lab"), TINY.tasks, False)

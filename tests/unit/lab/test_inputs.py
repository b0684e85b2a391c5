"""The lab's own files as inputs."""

from __future__ import annotations

from pathlib import Path

from greffe.lab.inputs import LabSize, file_inputs


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_without_a_corpus_the_reviews_own_text_is_read(tmp_path: Path) -> None:
    files, out = tmp_path / "files", tmp_path / "out"
    out.mkdir()
    for name in ("sentencepiece.french.model", "dict.txt"):
        write(files / name, "")
    for part in ("train", "valid"):
        write(files / "cls-books" / f"{part}.review.spm", "▁Un ▁ro man .\n▁Long ▁et ▁fade .\n")
        write(files / "cls-books" / f"{part}.label", "1\n0\n")

    found = file_inputs(out, files, None, LabSize(), None, False)
    assert found.corpus.read_text("utf-8") == "Un roman.\nLong et fade.\n"
    assert found.data.corpus_is_reviews and not found.data.is_sample
    assert found.recipe.name == "lab" and found.data.budget == "5m"
    assert found.test.name == "valid.review.spm"

    write(tmp_path / "wiki.txt", "Bonjour.\n")
    given = file_inputs(out, files, tmp_path / "wiki.txt", LabSize(), "90s", False)
    assert given.corpus == tmp_path / "wiki.txt"
    assert (given.data.corpus_is_reviews, given.data.corpus) == (False, "wiki.txt")
    assert given.data.budget == "90s"

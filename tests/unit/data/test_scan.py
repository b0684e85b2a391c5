from __future__ import annotations

from pathlib import Path

import pytest

from greffe.config.options import Reading
from greffe.data import scan as scan_module
from greffe.data.scan import Assignment, Scan, read_again, read_sample, scan_documents
from greffe.errors import DataError


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(path)


def scanned(
    sources: list[str], folder: Path, valid: float = 0.2, seed: int = 0
) -> tuple[Scan, list[tuple[str, int]]]:
    found = scan_documents(sources, Reading(), folder, valid=valid, seed=seed)
    return found, list(read_again(sources, Reading(), found, folder))


def chosen(documents: list[tuple[str, int]], assignment: Assignment) -> set[str]:
    return {text for text, found in documents if found == assignment}


def test_every_document_is_assigned_once_and_only_copies_are_dropped(tmp_path: Path) -> None:
    first = write(tmp_path / "a.txt", [f"texte {n}" for n in range(10)])
    second = write(tmp_path / "b.txt", ["texte 3", "autre", "autre"])
    found, documents = scanned([first, second], tmp_path / "scan")
    assert (found.documents, found.unique, found.valid) == (13, 11, 2)
    assert [source.documents for source in found.sources] == [10, 3]
    assert found.bytes == sum(len(text.encode()) for text, _ in documents)
    # The first of equal documents is kept.
    assert [n for n, (_, kind) in enumerate(documents) if kind == Assignment.DUPLICATE] == [10, 12]
    assert len(chosen(documents, Assignment.VALID)) == 2
    assert not chosen(documents, Assignment.VALID) & chosen(documents, Assignment.TRAIN)
    assert [path.name for path in (tmp_path / "scan").iterdir()] == ["assignments"]


def test_the_validation_split_depends_on_texts_and_seed_alone(tmp_path: Path) -> None:
    lines = [f"texte {n}" for n in range(60)]
    plain = write(tmp_path / "a.txt", lines)
    turned = write(tmp_path / "b.txt", lines[::-1])
    _, one = scanned([plain], tmp_path / "one")
    _, two = scanned([turned], tmp_path / "two")
    _, other = scanned([plain], tmp_path / "other", seed=1)
    assert chosen(one, Assignment.VALID) == chosen(two, Assignment.VALID)
    assert chosen(one, Assignment.VALID) != chosen(other, Assignment.VALID)


@pytest.mark.parametrize(("valid", "count"), [(0.0, 0), (0.001, 1), (0.999, 9)])
def test_at_least_one_document_is_on_each_side(tmp_path: Path, valid: float, count: int) -> None:
    source = write(tmp_path / "a.txt", [f"texte {n}" for n in range(10)])
    assert scanned([source], tmp_path / "scan", valid=valid)[0].valid == count


def test_blocks_of_records_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path / "a.txt", [f"texte {n % 15}" for n in range(40)])
    _, whole = scanned([source], tmp_path / "whole")
    monkeypatch.setattr(scan_module, "BLOCK_DOCUMENTS", 7)
    _, blocks = scanned([source], tmp_path / "blocks")
    assert blocks == whole


def test_reading_again_starts_at_the_given_document(tmp_path: Path) -> None:
    sources = [write(tmp_path / f"{name}.txt", [f"{name} {n}" for n in range(3)]) for name in "abc"]
    found, documents = scanned(sources, tmp_path / "scan")
    Path(sources[0]).unlink()  # earlier sources are not opened
    rest = read_again(sources, Reading(), found, tmp_path / "scan", start=4)
    assert list(rest) == documents[4:]


def test_a_source_that_changed_is_an_error(tmp_path: Path) -> None:
    source = write(tmp_path / "a.txt", ["un", "deux"])
    found, _ = scanned([source], tmp_path / "scan")
    write(tmp_path / "a.txt", ["un", "deux", "trois"])
    with pytest.raises(DataError, match="changed"):
        list(read_again([source], Reading(), found, tmp_path / "scan"))


def test_a_sample_is_training_text_of_bounded_size(tmp_path: Path) -> None:
    source = write(tmp_path / "a.txt", [f"texte {n:04}" for n in range(400)])
    found, documents = scanned([source], tmp_path / "scan")
    sample = list(read_sample([source], Reading(), found, tmp_path / "scan", size=2000, seed=0))
    assert set(sample) <= chosen(documents, Assignment.TRAIN)
    assert 1000 < sum(map(len, sample)) <= 2000
    # Drawn from the whole corpus, not from its beginning.
    assert sample[-1] > "texte 0300"


def test_input_without_text_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "a.txt", ["", "  "])
    with pytest.raises(DataError, match="no documents"):
        scanned([source], tmp_path / "scan")

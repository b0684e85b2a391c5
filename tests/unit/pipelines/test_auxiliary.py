"""Auxiliary tables: read, checked, and without copies of known texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from greffe.config.options import Reading
from greffe.data.tables import Example
from greffe.errors import DataError
from greffe.pipelines.auxiliary import AuxiliaryTables, open_auxiliary
from greffe.pipelines.labelled import data_hash

LABELS = ["bad", "good"]
KNOWN = [Example("A fine book.", "good"), Example("A poor book.", "bad")]
NEW = [Example("A fine film.", "good"), Example("A poor film.", "bad")]
COPY = Example("  a FINE book. ", "good")


def opened(*tables: list[Example] | Path) -> AuxiliaryTables:
    return open_auxiliary(tables, LABELS, Reading(), known=KNOWN)


def test_no_tables_are_no_auxiliary_data() -> None:
    assert opened() == AuxiliaryTables(labels=LABELS)
    assert opened().texts == 0 and opened().auxiliary is None


def test_tables_from_files_and_memory(tmp_path: Path) -> None:
    path = tmp_path / "films.tsv"
    path.write_text("".join(f"{one.label}\t{one.text}\n" for one in NEW), "utf-8")
    found = opened(path, NEW[:1])
    assert found.tables == [NEW, NEW[:1]] and found.texts == 3
    assert found.hashes == {"auxiliary 1": data_hash(NEW), "auxiliary 2": data_hash(NEW[:1])}
    assert found.auxiliary is not None and found.auxiliary.targets.tolist() == [1, 0, 1]


def test_copies_of_known_texts_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    found = opened([*NEW, COPY])
    assert found.tables == [NEW]
    assert found.hashes["auxiliary 1"] == data_hash([*NEW, COPY])
    assert "auxiliary 1: 1 texts" in capsys.readouterr().err
    with pytest.raises(DataError, match="only texts that are in your data"):
        opened([COPY])


def test_other_labels_are_refused() -> None:
    with pytest.raises(DataError, match="other labels") as caught:
        opened(NEW, [Example("So so.", "mixed")])
    assert "mixed" in str(caught.value.found) and "--features-from" in str(caught.value.hint)

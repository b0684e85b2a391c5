"""Equal texts with different labels."""

from __future__ import annotations

from tests.unit.doctor.labelled_texts import different

from greffe.data.tables import Example
from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.contradictions import contradictions


def test_contradictions():
    parts = {
        "train": [*different(0, 5), Example("Pas mal.", "1"), Example("Bof bof", "0")],
        "test": [Example("pas mal", "0"), Example("pas MAL", "1"), Example("bof bof", "0")],
    }
    (found,) = contradictions(LabelledData(parts=parts))
    assert (found.severity, found.count, found.total) == ("warning", 3, 10)
    assert found.where == "train and test"
    assert found.example == "0 / 1: Pas mal."
    assert found.detail == {"texts": 1}
    parts["train"][5] = Example("Pas mal.", "0")
    parts["test"][1] = Example("pas MAL", "0")
    assert not list(contradictions(LabelledData(parts=parts)))

"""Empty texts and single words."""

from __future__ import annotations

from greffe.data.tables import Example
from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.short_texts import short_texts


def found_in(*examples):
    return list(short_texts(LabelledData(parts={"test": examples})))


def test_short_texts():
    long = Example("語" * 40, "a")
    (found,) = found_in(*(Example(t, "a") for t in ("", " ", "Nul !", "Pas mal")), long)
    assert (found.kind, found.severity, found.count, found.total) == ("short_texts", "note", 3, 5)
    assert (found.detail, found.example) == ({"empty": 2}, "Nul !")
    assert found_in(Example("Pas mal", "a"), long) == []

"""Letters that the vocabulary lacks."""

from __future__ import annotations

from greffe.data.tables import Example
from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.unknown_scripts import unknown_scripts


def test_unknown_scripts(tiny_tokenizer):
    def found_in(*examples):
        data = LabelledData(parts={"train": examples}, tokenizer=tiny_tokenizer)
        return list(unknown_scripts(data))

    known = [Example("Ce livre est 語 vraiment magnifique 👍👍👍👍👍👍", "a")] * 200
    assert found_in(*known) == []
    foreign = [Example("Ce livre est книга", "a"), Example("これは語", "a")]
    (found,) = found_in(*known, *foreign)
    assert (found.severity, found.count, found.total) == ("note", 2, 202)
    assert found.detail["scripts"] == "Cyrillic, Hiragana, Han"
    (found,) = found_in(*known, *foreign * 2)
    assert (found.severity, found.example) == ("warning", "Ce livre est книга")

"""Texts that the pretraining corpus contains."""

from __future__ import annotations

from tests.unit.doctor.labelled_texts import different

from greffe.doctor.checks.check import LabelledData
from greffe.doctor.checks.known_from_corpus import known_from_corpus
from greffe.progress import quiet


def test_overlap_with_the_corpus(tmp_path):
    texts = different(0, 200)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(e.text for e in different(1000, 50)), "utf-8")
    data = LabelledData(parts={"test": texts}, corpus=[corpus])
    with quiet():
        assert list(known_from_corpus(data)) == []
        for leaked, severity in ((2, "warning"), (3, "serious")):
            corpus.write_text("\n".join(f"x {e.text} y" for e in texts[:leaked]), "utf-8")
            (found,) = known_from_corpus(data)
            assert (found.kind, found.severity) == ("corpus_overlap", severity)
            assert (found.count, found.total, found.where) == (leaked, 200, "test")
            assert found.detail == {"words": 13, "covered": 1.0, "source": "corpus.txt"}
            assert found.example == texts[0].text

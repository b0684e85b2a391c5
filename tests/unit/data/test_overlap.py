"""Overlap with raw and prepared corpora is found in constant memory."""

from __future__ import annotations

import lzma
import subprocess
import sys

import pytest

from greffe import prepare
from greffe.config.options import Reading
from greffe.config.sections import TokenizerSpec
from greffe.data import overlap
from greffe.data.overlap import check_corpora, corpus_overlap
from greffe.errors import CorruptError, DataError, RecipeError
from greffe.progress import quiet
from greffe.seeding import rng

LINE = Reading()


def sentence(number, words=30):
    """Words that no other sentence has in this order."""
    draw = rng(number, "sentence")
    return " ".join(f"mot{word}" for word in draw.integers(0, 5000, words))


@pytest.fixture(autouse=True)
def _quiet():
    with quiet():
        yield


def write(path, documents):
    path.write_text("\n".join(documents) + "\n", "utf-8")
    return str(path)


def test_shared_passages_are_found_with_their_source(tmp_path):
    texts = [sentence(1), sentence(2), sentence(3)]
    clean = write(tmp_path / "clean.txt", [sentence(number) for number in range(10, 60)])
    shared = " ".join(texts[1].split()[5:25])
    dirty = write(tmp_path / "dirty.txt", [sentence(70), f"avant {shared.upper()} après"])
    found = corpus_overlap(texts, [clean, dirty], LINE)
    assert found.covered == [0, 20, 0]
    assert found.words == [30, 30, 30]
    assert found.texts == [1]
    assert found.documents == 52
    assert (found.example.text, found.example.words) == (1, shared)
    assert found.example.source == dirty


def test_nothing_shared(tmp_path):
    clean = write(tmp_path / "clean.txt", [sentence(number) for number in range(10, 60)])
    found = corpus_overlap([sentence(1), "deux mots", ""], [clean], LINE)
    assert (found.covered, found.texts, found.example) == ([0, 0, 0], [], None)


def test_a_run_of_twelve_words_is_none_and_documents_end_at_their_borders(tmp_path):
    words = sentence(1).split()
    twelve = write(tmp_path / "a.txt", [" ".join(words[:12]), " ".join(words[12:24])])
    assert corpus_overlap([" ".join(words)], [twelve], LINE).texts == []
    assert corpus_overlap([" ".join(words)], [twelve], LINE, size=12).covered == [24]
    whole = Reading(documents="file")
    assert corpus_overlap([" ".join(words)], [twelve], whole).covered == [24]


@pytest.mark.parametrize("workers", [1, 2])
def test_found_in_any_block_by_any_number_of_processes(tmp_path, monkeypatch, workers):
    monkeypatch.setattr(overlap, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(overlap, "SMALL_CORPUS", 0)
    documents = [sentence(number) for number in range(100, 180)]
    texts = [f"x {document} y" for document in documents[::7]] + [sentence(1)]
    for name in ("b.txt", "a.txt"):
        write(tmp_path / name, documents)
    found = corpus_overlap(texts, [tmp_path], LINE, workers=workers)
    assert found.covered == [30] * (len(texts) - 1) + [0]
    assert found.documents == 160
    assert found.example.source.endswith("a.txt"), "the first in order, whoever was quicker"


def test_compressed_text_and_tables(tmp_path):
    texts = [sentence(1), sentence(2)]
    (tmp_path / "a.txt.xz").write_bytes(lzma.compress(f"{texts[0]}\n".encode()))
    write(tmp_path / "b.jsonl", [f'{{"text": "{texts[1]}"}}'])
    assert corpus_overlap(texts, [tmp_path], LINE).texts == [0, 1]


def test_a_prepared_corpus_is_read_through_its_tokenizer(tmp_path):
    documents = [sentence(number) for number in range(40)]
    raw = write(tmp_path / "raw.txt", documents)
    spec = TokenizerSpec(kind="bpe", vocab=400)
    prepare(raw, tmp_path / "corpus", vocab=spec.vocab, valid=0.2, workers=1)
    found = corpus_overlap([*documents, sentence(99)], [tmp_path / "corpus"], LINE)
    assert found.texts == list(range(40)), "also those of the held-out part"
    assert found.example.source == str(tmp_path / "corpus")


def test_wrong_numbers_and_missing_files_are_refused(tmp_path):
    with pytest.raises(RecipeError, match="n-gram size"):
        corpus_overlap(["a"], [tmp_path], LINE, size=0)
    with pytest.raises(RecipeError):
        corpus_overlap(["a"], [tmp_path], LINE, workers=-1)
    with pytest.raises(DataError, match="cannot be read"):
        corpus_overlap(["a"], [tmp_path / "no.txt"], LINE)


def test_does_without_torch():
    code = "import sys, greffe.data.overlap; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


MEASURE = """
import resource, sys
from greffe.data.overlap import check_corpora, corpus_overlap
from greffe.config.options import Reading
texts = open(sys.argv[1], encoding="utf-8").read().splitlines()
for corpus in sys.argv[2:]:
    found = corpus_overlap(texts, [corpus], Reading(), workers=1)
    print(len(found.texts), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.alone
def test_memory_does_not_grow_with_the_corpus(tmp_path):
    draw = rng(0, "corpus")
    lines = [" ".join(f"mot{word}" for word in draw.integers(0, 50_000, 40)) for _ in range(20_000)]
    block = "\n".join(lines) + "\n"  # about 7 MB
    small, large, texts = (tmp_path / name for name in ("small.txt", "large.txt", "texts.txt"))
    small.write_text(block, "utf-8")
    with large.open("w", encoding="utf-8") as file:
        for number in range(60_000_000 // len(block) + 1):
            file.write(block.replace("mot1", f"mot{number}x"))
    assert large.stat().st_size > 60_000_000
    texts.write_text("\n".join(lines[:200]), "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, texts, small, large],
        capture_output=True,
        text=True,
        check=True,
    )
    (first, before), (second, after) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert first == 200
    assert second > 0
    assert after - before < 20_000, "kilobytes"


def test_sources_are_checked_without_a_search(tmp_path, monkeypatch):
    monkeypatch.setattr(overlap, "map_in_order", None)
    text = write(tmp_path / "text.txt", [sentence(1)])
    prepare(text, tmp_path / "corpus", vocab=300, workers=1)
    check_corpora([text, tmp_path / "corpus"], LINE)
    with pytest.raises(DataError, match=r"nowhere\.txt"):
        check_corpora([text, tmp_path / "nowhere.txt"], LINE)
    (tmp_path / "corpus" / "train-00000.tokens").unlink()
    with pytest.raises(CorruptError, match="train-00000"):
        check_corpora([text, tmp_path / "corpus"], LINE)

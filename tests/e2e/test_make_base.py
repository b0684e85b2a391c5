"""`make base` on a small corpus: every step, and the folder that would ship."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import msgpack
import numpy as np
import pytest

import greffe
from greffe.config.recipe_files import load_recipe
from greffe.run import RunDirectory
from greffe.samples.reviews import reviews, unlabelled

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools.make_base import KINDS, PACKAGE, documents, make_base, split
from tools.web_vectors import WordVectors, murmur_hash, vectors_of_pieces
from tools.wide_embedding import factorize

WORDS = [text for _, text in reviews("train")] + unlabelled()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "clean"
    folder.mkdir()
    for number, name in enumerate(name for names in KINDS.values() for name in names):
        lines = WORDS[number * 130 : (number + 1) * 130]
        (folder / f"{name}.txt.xz").write_bytes(lzma.compress("\n".join(lines).encode()))
    return folder


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """Write a package of word vectors: three words with a row each, and one that shares a row."""
    folder = tmp_path / "vectors" / "vocab"
    folder.mkdir(parents=True)
    words = ["livre", "roman", "Paris", "bouquin"]
    rows = {murmur_hash(word.encode()): row for word, row in zip(words, [0, 1, 2, 0], strict=True)}
    (folder / "key2row").write_bytes(msgpack.packb(rows))
    (folder / "strings.json").write_text(json.dumps([*sorted(words), "inconnu"]))
    with (folder / "vectors").open("wb") as file:
        np.save(file, np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32))
    return tmp_path / "vectors"


def test_strings_are_numbered_as_in_spacy() -> None:
    # Values of spaCy's own string store.
    assert murmur_hash(b"coffee") == 3197928453018144401
    assert murmur_hash(b"apple") == 8566208034543834098


def test_words_share_rows_and_the_first_owns_it(vectors: Path) -> None:
    found = WordVectors.read(vectors)
    assert found.row_of == {"livre": 0, "roman": 1, "Paris": 2, "bouquin": 0}
    assert sorted(found.owners) == ["Paris", "livre", "roman"]


def test_a_word_has_its_vector_and_parts_sum_to_it(vectors: Path) -> None:
    words, tokenizer = WordVectors.read(vectors), greffe.load("greffe-fr").tokenizer
    found = vectors_of_pieces(tokenizer, words)
    assert found.shape == (tokenizer.size, 8)
    expected = words.vectors - words.vectors.mean(axis=0)
    for word, row in words.row_of.items():
        pieces = tokenizer.encode(word)
        assert np.corrcoef(found[pieces].sum(axis=0), expected[row])[0, 1] > 0.99
    assert not found[tokenizer.encode("xylophone")[-1]].any()


def test_a_wide_embedding_computes_the_old_one_where_it_can() -> None:
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(60, 6)).astype(np.float32)
    rest = draw.normal(size=(60, 2)) @ draw.normal(size=(2, 5))
    embedding = (vectors @ draw.normal(size=(6, 5)) + rest + 0.5).astype(np.float32)
    table, projection, bias = factorize(embedding, vectors, draw.integers(0, 9, 60), 2)
    assert table.shape == (60, 8)
    assert (table[:, :6] == vectors).all()
    np.testing.assert_allclose(table @ projection + bias, embedding, atol=1e-3)
    table, projection, bias = factorize(embedding, vectors, draw.integers(0, 9, 60), 1)
    assert np.abs(table @ projection + bias - embedding).max() > 0.1


def test_paragraphs_are_joined_and_apostrophes_straightened() -> None:
    assert list(documents(iter(["l’un deux", "", "trois", "quatre cinq six", "sept"]), 3)) == [
        "l'un deux trois",
        "quatre cinq six",
        "sept",
    ]
    assert list(documents(iter(["un", "deux"]), 0)) == ["un", "deux"]


def test_held_out_and_training_texts_are_disjoint_and_complete(
    corpus: Path, tmp_path: Path
) -> None:
    split(corpus, tmp_path / "work")
    train = (tmp_path / "work/train/tatoeba_fr.txt").read_text().splitlines()
    held_out = (tmp_path / "work/held-out/tatoeba_fr.txt").read_text().splitlines()
    texts = lzma.decompress((corpus / "tatoeba_fr.txt.xz").read_bytes()).decode().splitlines()
    assert not set(train) & set(held_out)
    assert set(train) | set(held_out) == {text.replace("’", "'") for text in texts}


@pytest.mark.slow
def test_a_base_is_continued_with_word_vectors_measured_and_written(
    corpus: Path, vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = load_recipe("greffe-fr").with_changes(["model.embedding_width=12"])
    kinds = {kind: KINDS[kind] for kind in ("parliament", "technology")}
    monkeypatch.setattr("tools.make_base.HELD_OUT", 8)
    monkeypatch.setattr("tools.make_base.KINDS", kinds)
    monkeypatch.setattr("tools.make_base.load_recipe", lambda _: recipe)
    work, out = tmp_path / "work", tmp_path / "base"
    make_base(corpus, vectors, PACKAGE, work, out, budget="3steps")
    base, start = greffe.load(out), greffe.load(work / "start")
    assert base.tokenizer.encode("l’ami") == base.tokenizer.encode("l'ami")
    assert base.generate("Bonjour les", tokens=3, seed=0).startswith("Bonjour les")
    card = (out / "README.md").read_text()
    for kind in kinds:
        assert f"| {kind} |" in card
    assert "3 steps with the recipe below" in card
    shipped = RunDirectory(PACKAGE).manifest()
    assert start.manifest().lineage.parent_weights == shipped.weights
    assert start.model.base.embedding.weight.shape[1] == 12
    assert base.manifest().lineage.parent_weights == start.manifest().weights
    assert base.manifest().vocab == start.manifest().vocab == shipped.vocab
    assert base.recipe().classification.lowercase
    assert base.manifest().lineage.command == []

    # A base with the recipe's embedding keeps it: its training goes on.
    again = tmp_path / "again"
    make_base(corpus, vectors, out, tmp_path / "more", again, budget="2steps")
    assert not (tmp_path / "more" / "start").exists()
    further = greffe.load(again)
    assert further.manifest().lineage.parent_weights == base.manifest().weights
    assert further.tokenizer.fingerprint == base.tokenizer.fingerprint
    assert further.recipe().seed == base.recipe().seed + 1

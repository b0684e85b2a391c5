"""`make base` on a small corpus: every step, and the folder that would ship."""

from __future__ import annotations

import lzma
import sys
from pathlib import Path

import pytest

import greffe
from greffe.samples.reviews import reviews, unlabelled

sys.path.insert(0, str(Path(__file__).parents[2]))
from tools.make_base import KINDS, documents, make_base, split

WORDS = [text for _, text in reviews("train")] + unlabelled()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "clean"
    folder.mkdir()
    for number, name in enumerate(name for names in KINDS.values() for name in names):
        lines = WORDS[number * 190 : (number + 1) * 190]
        (folder / f"{name}.txt.xz").write_bytes(lzma.compress("\n".join(lines).encode()))
    return folder


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
def test_a_base_is_made_measured_and_written(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.make_base.HELD_OUT", 8)
    out = tmp_path / "base"
    make_base(corpus, tmp_path / "work", out, budget="3steps")
    base = greffe.load(out)
    assert base.tokenizer.encode("l’ami") == base.tokenizer.encode("l'ami")
    assert base.generate("Bonjour les", tokens=3, seed=0).startswith("Bonjour les")
    card = (out / "README.md").read_text()
    for kind in KINDS:
        assert f"| {kind} |" in card
    assert "then 3 steps with the recipe below and 3 more" in card
    assert base.recipe().objective.causal_fraction == 0.25
    first, second = (greffe.load(tmp_path / "work" / name) for name in ("first", "base"))
    assert second.manifest().lineage.parent_weights == first.manifest().weights
    assert second.recipe().seed == first.recipe().seed + 1
    assert base.manifest().lineage.command == []

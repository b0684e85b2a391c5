"""The README's own commands, run as they stand there but with small files and budgets."""

from __future__ import annotations

import json
import lzma
import re
import shlex
from pathlib import Path

import pytest
import sentencepiece

from greffe.progress import quiet
from greffe.samples.toy import toy_documents, toy_reviews

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
SMALLER = {
    "20m": "2s",
    "10m": "4steps",
    "1h": "4steps",
    "small": "tiny",
    "12m": "2s",
    "16000": "600",
    "24000": "600",
    "50,100,all": "8,16,all",
}
QUICK = {"finetune": ["--budget", "1epochs"], "compare": ["--budget", "1epochs", "--seeds", "2"]}
ELSEWHERE = ("lab",)
"""Takes minutes; tests/unit/lab runs its parts."""


def commands() -> list[list[str]]:
    """All `$ greffe …` lines of the README, in order."""
    lines = re.findall(r"^\$ (greffe .*)$", README, re.MULTILINE)
    found = [[SMALLER.get(word, word) for word in shlex.split(line)[1:]] for line in lines]
    return [words for words in found if words[0] not in ELSEWHERE]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the README speaks of."""
    texts = list(toy_documents(200, seed=0))
    (tmp_path / "corpus.txt.xz").write_bytes(lzma.compress("\n".join(texts[:100]).encode()))
    (tmp_path / "more").mkdir()
    lines = (json.dumps({"text": text}) for text in texts[100:])
    (tmp_path / "more" / "a.jsonl").write_text("\n".join(lines), "utf-8")
    (tmp_path / "my_reviews.txt").write_text("\n".join(texts[:40]), "utf-8")
    (tmp_path / "texts.txt").write_text("\n".join(texts[:5]), "utf-8")
    (tmp_path / "french.txt").write_text("\n".join(texts), "utf-8")
    for name, count, seed in (
        ("train", 24, 1),
        ("valid", 12, 2),
        ("test", 12, 3),
        ("other_reviews", 24, 4),
        ("films", 24, 5),
        ("restaurants", 24, 6),
    ):
        rows = (f"{label}\t{text}\n" for label, text in toy_reviews(count, seed=seed))
        (tmp_path / f"{name}.tsv").write_text("".join(rows), "utf-8")
    _write_lab_files(tmp_path, texts)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write_lab_files(folder: Path, texts: list[str]) -> None:
    """A small SentencePiece model, its dictionary, and reviews as its pieces."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_prefix=str(folder / "sentencepiece.french"),
        vocab_size=400,
        model_type="bpe",
        minloglevel=2,
    )
    model = sentencepiece.SentencePieceProcessor(
        model_file=str(folder / "sentencepiece.french.model")
    )
    pieces = [model.id_to_piece(number) for number in range(3, model.vocab_size())]
    (folder / "dict.txt").write_text("".join(f"{piece} 1\n" for piece in pieces), "utf-8")
    (folder / "cls-books").mkdir()
    for name, count, seed in (("train", 24, 1), ("valid", 12, 2)):
        labels, reviews = zip(*toy_reviews(count, seed=seed), strict=True)
        encoded = (" ".join(model.encode(review, out_type=str)) for review in reviews)
        (folder / "cls-books" / f"{name}.review.spm").write_text("\n".join(encoded), "utf-8")
        (folder / "cls-books" / f"{name}.label").write_text(
            "\n".join(str(int(label == "positif")) for label in labels), "utf-8"
        )


@pytest.mark.slow
def test_every_command_of_the_readme_works(command, workplace):
    found = commands()
    verbs = {words[0] for words in found}
    assert verbs >= {"prepare", "pretrain", "finetune", "evaluate", "predict", "generate", "fill"}
    assert verbs >= {"ensemble", "compare", "doctor", "report", "linear"}
    printed = {}
    for words in found:
        outcome = command(*words, *QUICK.get(words[0], []))
        assert outcome.code == 0, (words, outcome.err)
        printed[" ".join(words)] = outcome.out
    rows = printed["predict runs/clf --input texts.txt --format jsonl"].splitlines()
    assert len(rows) == 5
    assert set(json.loads(rows[0])["probabilities"]) == {"positif", "négatif"}
    continued = printed["generate greffe-fr Bonjour les --tokens 40 --seed 1"]
    assert continued.startswith("Bonjour les")
    for number in ("10,968,200", "10,968,602", "21,018,401"):
        assert number in printed["show recipes/lab.toml"]
    assert (workplace / "positions.png").stat().st_size > 1000
    lab = json.loads((workplace / "runs/lab/run.json").read_text())
    assert lab["vocab"] == 400 - 3 + 4
    for arm in ("lab-clf", "lab-scratch"):
        lines = (workplace / f"runs/{arm}/metrics.jsonl").read_text().splitlines()
        evaluations = [json.loads(line) for line in lines if '"valid"' in line]
        assert [evaluate["epoch"] for evaluate in evaluations] == [1.0]
        assert 0 <= evaluations[0]["accuracy"] <= 1


@pytest.mark.slow
def test_the_python_of_the_readme_works(workplace):
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (workplace / "books").mkdir()
    (workplace / "books" / "a.txt").write_text((workplace / "french.txt").read_text())
    rows = (workplace / "train.tsv").read_text("utf-8").splitlines()
    for name in ("reviews.csv", "test.csv"):
        cells = (row.split("\t") for row in rows)
        lines = (f'{label},"{text}"' for label, text in cells)
        (workplace / name).write_text("label,text\n" + "\n".join(lines), "utf-8")
    smaller = block.replace('budget="20m"', 'budget="4steps"')
    smaller = smaller.replace('out="runs/study")', 'out="runs/study", seeds=2)')
    assert smaller != block
    names: dict[str, object] = {}
    with quiet():
        exec(smaller, names)
    assert {"base", "clf"} <= names.keys()

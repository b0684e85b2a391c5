"""Warm start with word vectors: which weights it sets, what is recorded, and its effect."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from greffe.config.option_groups import flat_keywords
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.data.corpus import Corpus
from greffe.errors import RecipeError
from greffe.model.model import Model, build_model
from greffe.model.weights import base_hash
from greffe.objectives.objective import language_spec
from greffe.pipelines import pretrain as pretrain_module
from greffe.pipelines.prepare import prepare as prepare_corpus
from greffe.pipelines.warm_start import warm_start
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.samples.toy import toy_documents
from greffe.storage import file_hash
from greffe.training.checkpoint import load_model
from greffe.training.distributed import World

pretrain = flat_keywords(pretrain_module.pretrain)
prepare = flat_keywords(prepare_corpus)


WARM = "warm_start=word_vectors"
CHANGES = ["train.threads=1", "train.checkpoint_every=3steps", "train.evaluate_every=100%"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("warm")
    text = folder / "text.txt"
    text.write_text("\n".join(toy_documents(800, seed=0)), "utf-8")
    with quiet():
        prepare([text], folder / "corpus", vocab=recipe().tokenizer.vocab, valid=0.1)
    return folder / "corpus"


def recipe(*changes: str) -> Recipe:
    return load_recipe("tiny").with_changes(changes)


def fresh(text: Corpus, chosen: Recipe) -> Model:
    task = language_spec(chosen.objective).build(text.tokenizer, tied=chosen.model.tied)
    return build_model(chosen.model, text.tokenizer.size, task.heads(), chosen.seed)


def trained(
    corpus: Path, out: Path, *changes: str, steps: int = 6, **choices: object
) -> RunDirectory:
    with quiet():
        return pretrain(
            corpus,
            out,
            **{"recipe": "tiny", **choices},  # type: ignore[arg-type]
            budget=f"{steps}steps",
            changes=[*CHANGES, *changes],
        )


def test_without_a_warm_start_the_model_is_unchanged(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Corpus.open(corpus)
    model = fresh(text, recipe())
    before = base_hash(model)
    warm_start(model, text, recipe(), World())
    assert base_hash(model) == before
    assert capsys.readouterr().err == ""


def test_words_get_vectors_and_specials_keep_theirs(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Corpus.open(corpus)
    model = fresh(text, recipe())
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    warm_start(model, text, recipe(WARM), World())
    after = model.state_dict()
    changed = [name for name in after if not after[name].equal(before[name])]
    assert changed == ["base.embedding.weight"]
    is_changed = (after[changed[0]] != before[changed[0]]).any(dim=1)
    assert not is_changed[list(text.tokenizer.specials)].any()
    count = int(is_changed.sum())
    assert count > 200  # most of the 256 single bytes never occur
    shown = capsys.readouterr().err
    assert f"word vectors: {count} of {text.tokenizer.size} pieces initialized from" in shown


def test_the_lineage_records_the_base_after_the_warm_start(corpus: Path, tmp_path: Path) -> None:
    text = Corpus.open(corpus)
    chosen = recipe(WARM)
    model = fresh(text, chosen)
    cold = base_hash(model)
    with quiet():
        warm_start(model, text, chosen, World())
    lineages = [
        trained(corpus, tmp_path / name, *changes).manifest().lineage
        for name, changes in (("warm", [WARM]), ("cold", []))
    ]
    assert [lineage.initial_base for lineage in lineages] == [base_hash(model), cold]


def test_continued_pretraining_keeps_the_embedding_of_the_parent(
    corpus: Path, tmp_path: Path
) -> None:
    parent = trained(corpus, tmp_path / "parent", WARM)
    with quiet():
        child = pretrain(
            corpus, tmp_path / "child", parent=parent, budget="2steps", changes=["train.threads=1"]
        )
    assert child.recipe().warm_start == "word_vectors"
    assert child.manifest().lineage.initial_base == base_hash(load_model(parent))


def test_a_warm_start_with_a_parent_is_an_error(corpus: Path, tmp_path: Path) -> None:
    parent = trained(corpus, tmp_path / "parent")
    for value in ("word_vectors", "none"):
        with pytest.raises(RecipeError, match="warm_start has no effect with --from"):
            trained(corpus, tmp_path / "child", f" warm_start ={value}", parent=parent, recipe=None)
    assert not (tmp_path / "child").exists()


def test_an_interrupted_run_has_the_same_weights_and_counts_once(
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    interrupted: Callable[[], AbstractContextManager[None]],
) -> None:
    starts: list[Model] = []

    def watched(model: Model, text: Corpus, chosen: Recipe, world: World) -> None:
        starts.append(model)
        warm_start(model, text, chosen, world)

    monkeypatch.setattr(pretrain_module, "warm_start", watched)
    whole = trained(corpus, tmp_path / "whole", WARM)
    with interrupted():
        trained(corpus, tmp_path / "parts", WARM)
    assert len(starts) == 2
    parts = trained(corpus, tmp_path / "parts", WARM, resume=True)
    assert len(starts) == 2
    assert file_hash(parts.weights_path) == file_hash(whole.weights_path)
    lineages = [run.manifest().lineage for run in (parts, whole)]
    assert lineages[0].initial_base == lineages[1].initial_base


def test_a_warm_start_has_a_lower_loss_after_the_same_steps(corpus: Path, tmp_path: Path) -> None:
    losses = [
        trained(corpus, tmp_path / name, change, "train.lr=2e-3", steps=20, objective="causal")
        .manifest()
        .result["loss"]
        for name, change in (("warm", WARM), ("cold", "warm_start=none"))
    ]
    assert losses[0] < losses[1] - 0.2, losses


RANK = """
import sys
import torch
from greffe.data.corpus import Corpus
from greffe.model.model import build_model
from greffe.config.recipe_files import load_recipe
from greffe.pipelines.warm_start import warm_start
from greffe.model.weights import base_hash
from greffe.training.distributed import World

torch.set_num_threads(1)
world = World.join()
text = Corpus.open(sys.argv[1])
recipe = load_recipe("tiny").with_changes(["warm_start=word_vectors"])
model = build_model(recipe.model, text.tokenizer.size, {}, recipe.seed)
before = base_hash(model)
warm_start(model, text, recipe, world)
world.barrier()
world.leave()
print(before, base_hash(model))
"""


@pytest.mark.alone
def test_two_processes_have_the_same_start(
    corpus: Path, two_ranks: Callable[..., list[tuple[str, str]]]
) -> None:
    outputs = two_ranks(RANK, str(corpus))
    first, second = (answer.split() for answer, _ in outputs)
    assert first == second, outputs
    before, after = first
    assert before != after
    assert "word vectors" in outputs[0][1] and "word vectors" not in outputs[1][1]

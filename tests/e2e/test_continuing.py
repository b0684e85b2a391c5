"""Going on from a run: another objective, another text, another task."""

from __future__ import annotations

import greffe
from greffe.model.weights import base_hash
from greffe.progress import quiet


def test_a_base_continues_on_raw_text_with_its_tokenizer(world, tmp_path, capsys):
    run = greffe.pretrain(
        world.text,
        tmp_path / "adapted",
        from_=world.base,
        budget="3steps",
        valid=0.1,
        changes=["train.threads=1"],
    )
    parent = greffe.load(world.base)
    lineage = run.manifest().lineage
    assert lineage.parent_weights == parent.manifest().weights
    assert lineage.initial_base == base_hash(parent.model)
    assert lineage.tokenizer == parent.manifest().lineage.tokenizer
    assert run.recipe().objective == parent.recipe().objective
    assert "loaded from" in capsys.readouterr().err
    assert base_hash(run.model) != lineage.initial_base


def test_a_base_continues_in_a_new_vocabulary(command, world, tmp_path):
    words = ("pretrain", world.text, "--from", world.base, "--new-vocab", 640)
    more = ("--lowercase", "--budget", "2steps", "--set", "train.threads=1")
    done = command(*words, *more, "--out", tmp_path / "own")
    assert done.code == 0, done.err
    assert "→ 640 pieces of this text" in " ".join(done.err.split())
    shown = command("show", tmp_path / "own")
    assert "vocabulary transfer" in shown.out
    run = greffe.load(tmp_path / "own")
    assert run.tokenizer.size == 640 and run.tokenizer.lowercases
    assert run.fill("<mask>")


def test_another_objective_keeps_the_base_and_gets_a_new_head(world, tmp_path, capsys):
    run = greffe.pretrain(
        world.corpus, tmp_path / "r", from_=world.base, objective="next_sentence", budget="2steps"
    )
    shown = capsys.readouterr().err
    assert "new: head next_sentence" in shown
    assert "not loaded: head next_token" in shown
    assert set(run.manifest().heads) == {"masked_token", "next_sentence"}


def test_a_classifier_is_the_base_of_another_task(world, tmp_path):
    other = [("un deux trois", "a"), ("quatre cinq", "b"), ("six", "c")] * 4
    with quiet():
        run = greffe.finetune(
            world.classifier, data=other, valid=other, out=tmp_path / "r", budget="1epochs"
        )
    parent = greffe.load(world.classifier)
    assert run.labels == ["a", "b", "c"]
    assert run.manifest().lineage.initial_base == base_hash(parent.model)


def test_the_same_labels_keep_the_head_unless_told_otherwise(world, tmp_path, capsys):
    for name, new_head, words in (
        ("kept", False, "head classification (2 tensors); "),
        ("fresh", True, "new: head classification"),
    ):
        greffe.finetune(
            world.classifier,
            data=world.train,
            valid=world.valid,
            out=tmp_path / name,
            budget="1epochs",
            new_head=new_head,
        )
        shown = capsys.readouterr().err
        assert ("; new: " in shown) == new_head, shown
        assert words.rstrip("; ") in shown


def test_a_classifiers_base_can_be_pretrained_further(world, tmp_path):
    with quiet():
        run = greffe.pretrain(world.corpus, tmp_path / "r", from_=world.classifier, budget="2steps")
    assert run.manifest().kind == "language-model"
    assert run.recipe().objective.kind == "masked"


def test_scratch_shares_the_head_and_not_the_base(world, tmp_path):
    arms = {}
    for arm in ("pretrained", "scratch"):
        with quiet():
            arms[arm] = greffe.finetune(
                world.base if arm == "pretrained" else None,
                scratch=arm == "scratch",
                like=world.base if arm == "scratch" else None,
                data=world.train,
                valid=world.valid,
                out=tmp_path / arm,
                budget="2epochs",
                seed=5,
            )
    first, second = (run.manifest().lineage for run in arms.values())
    assert first.initial_base == base_hash(greffe.load(world.base).model)
    assert first.initial_base != second.initial_base
    assert first.data == second.data
    for run in arms.values():
        evaluations = [line for line in run.metrics() if line["kind"] == "valid"]
        assert [evaluate["epoch"] for evaluate in evaluations] == [1.0, 2.0]
        assert all(0 <= evaluate["accuracy"] <= 1 for evaluate in evaluations)


def test_scratch_from_a_recipe_trains_its_own_tokenizer(world, tmp_path):
    with quiet():
        run = greffe.finetune(
            scratch=True,
            recipe="tiny",
            data=world.train,
            valid=world.valid,
            out=tmp_path / "r",
            budget="1epochs",
        )
    assert run.manifest().lineage.parent is None
    assert run.tokenizer.size == run.manifest().vocab

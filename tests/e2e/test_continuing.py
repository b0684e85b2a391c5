"""Continuing from a run: with another text, another objective, another task."""

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


def test_a_classifiers_base_can_be_pretrained_further(world, tmp_path):
    with quiet():
        run = greffe.pretrain(world.corpus, tmp_path / "r", from_=world.classifier, budget="2steps")
    assert run.manifest().kind == "language-model"
    assert run.recipe().objective.kind == "masked"

"""A head with a table of n-grams: asked for, kept in the next run, used like any classifier."""

from __future__ import annotations

import greffe
from greffe.progress import quiet
from greffe.weights import head_hash

TABLE = "heads.classification.ngrams.weight"
CHANGES = ["train.threads=1", "objective.ngrams=512", "train.ngram_rate=1000"]


def taught(world, out, base=None, **choices):
    with quiet():
        return greffe.finetune(
            base or world.base,
            data=world.train,
            valid=world.valid,
            out=out,
            budget="2epochs",
            **{"changes": CHANGES, **choices},
        )


def test_the_flag_gives_the_head_a_table(world, tmp_path, command):
    words = ["finetune", "--from", world.base, "--data", world.train, "--valid", world.valid]
    done = command(*words, "--out", tmp_path / "r", "--budget", "1steps", "--ngrams")
    assert done.code == 0, done.err
    run = greffe.load(tmp_path / "r")
    assert run.recipe().objective.ngrams == 2**18
    assert run.model.get_parameter(TABLE).shape == (run.tokenizer.size + 2**18, 2)
    shown = command("show", tmp_path / "r")
    assert shown.code == 0
    assert f"({run.tokenizer.size:,} + 262,144) × 2" in shown.out


def test_the_table_learns_and_is_part_of_what_the_run_says(world, tmp_path):
    run = taught(world, tmp_path / "r")
    table = run.model.get_parameter(TABLE)
    assert float(table.detach().abs().max()) > 0.01
    text = "un livre magnifique"
    before = run.predict([text])[0].probabilities
    table.data.zero_()
    assert run.predict([text])[0].probabilities != before
    assert greffe.load(tmp_path / "r").predict([text])[0].probabilities == before


def test_the_next_run_on_the_same_labels_keeps_it(world, tmp_path):
    parent = taught(world, tmp_path / "parent")
    plain = ["train.threads=1"]
    kept = taught(world, tmp_path / "kept", parent.path, changes=plain)
    assert kept.recipe().objective.ngrams == 512
    assert kept.manifest().lineage.initial_head == head_hash(parent.model)
    fresh = taught(world, tmp_path / "fresh", parent.path, changes=plain, new_head=True)
    assert fresh.recipe().objective.ngrams == 0
    other = [(text, label) for text in ("un deux", "trois") for label in ("a", "b")] * 4
    with quiet():
        another = greffe.finetune(
            parent.path, data=other, valid=other, out=tmp_path / "o", budget="1steps"
        )
    assert another.recipe().objective.ngrams == 0

"""What a fine-tuning begins with: its head, and what it reads of long texts."""

from __future__ import annotations

import json

import pytest
import torch

import greffe
from greffe.progress import quiet

SCORE = "heads.classification.score.weight"


def begun(world, out, base, *changes, ngrams=False):
    """A run whose weights have hardly moved from where they began."""
    with quiet():
        return greffe.finetune(
            base,
            data=world.train,
            valid=world.valid,
            out=out,
            budget="1steps",
            ngrams=ngrams,
            changes=["train.threads=1", "train.lr=1e-12", *changes],
        )


def test_a_new_head_begins_as_a_classifier_of_the_base(world, tmp_path):
    accuracy = {}
    for start in ("random", "probe"):
        change = f"classification.head_start={start}"
        run = begun(world, tmp_path / start, world.base, change)
        accuracy[start] = run.evaluate(world.train).accuracy
    assert accuracy["probe"] > max(0.75, accuracy["random"] + 0.1)


def test_a_head_that_is_kept_is_left_as_it_was(world, tmp_path):
    run = begun(world, tmp_path / "r", world.classifier, "classification.head_start=probe")
    before = greffe.load(world.classifier).model.get_parameter(SCORE)
    torch.testing.assert_close(run.model.get_parameter(SCORE), before)


@pytest.mark.parametrize("flag", [True, False])
def test_a_table_keeps_its_size_if_none_is_given(world, tmp_path, flag):
    parent = begun(world, tmp_path / "parent", world.base, "classification.ngrams=512")
    run = begun(world, tmp_path / "r", parent.path, ngrams=flag)
    assert run.recipe().objective.ngrams == 512


def test_texts_longer_than_the_context_are_learnt_from_in_windows(world, tmp_path, capsys):
    long = tmp_path / "long.tsv"
    rows = [line.split("\t") for line in world.train.read_text("utf-8").splitlines()]
    long.write_text("".join(f"{label}\t{f'{text} ' * 40}\n" for label, text in rows), "utf-8")
    told = {}
    for how in ("cut", "windows"):
        greffe.finetune(
            world.base,
            data=long,
            valid=world.valid,
            out=tmp_path / how,
            budget="1epochs",
            changes=["train.threads=1", f"classification.long={how}"],
        )
        told[how] = capsys.readouterr().err
    assert "training reads their beginning" in told["cut"]
    assert "training reads them in windows" in told["windows"]
    tokens = {
        how: json.loads((tmp_path / how / "run.json").read_text("utf-8"))["result"]["tokens"]
        for how in told
    }
    assert tokens["windows"] > 2 * tokens["cut"]

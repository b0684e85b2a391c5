"""The command on runs that were trained: each tensor, a run that has finished."""

from __future__ import annotations


def test_show_tensors_lists_each_tensor(command, world, tmp_path):
    outcome = command(
        *("finetune", "--from", world.base, "--data", world.train, "--valid", world.valid),
        *("--budget", "1epochs", "--show-tensors", "--out", tmp_path / "r"),
    )
    assert "loaded     base.embedding.weight" in outcome.err
    assert "new        heads.classification.score.weight" in outcome.err
    assert "not loaded heads.masked_token" in outcome.err


def test_resuming_a_finished_run_changes_nothing(command, world):
    before = (world.base / "run.json").read_bytes()
    words = (
        *("pretrain", world.corpus, "--recipe", "tiny", "--objective", "hybrid"),
        *("--set", "train.threads=1", "--out", world.base, "--resume", "--budget"),
    )
    outcome = command(*words, "12steps")
    assert outcome.code == 0, outcome.err
    assert "already finished" in outcome.err
    other = command(*words, "99steps")
    assert other.code == 2
    assert "train.budget was '12steps', now '99steps'" in other.err
    assert (world.base / "run.json").read_bytes() == before

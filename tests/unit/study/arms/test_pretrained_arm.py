"""Pretrained arms: the study's base, and further runs."""

from __future__ import annotations

from greffe.run import RunDirectory
from greffe.study.arms import ArmOptions
from greffe.study.arms.pretrained_arm import PretrainedArm

BASE, OTHER = RunDirectory("runs/base"), RunDirectory("runs/other")


def test_there_is_one_for_the_base_and_one_for_each_further_run() -> None:
    base, causal = PretrainedArm.planned(ArmOptions(base=BASE, others={"causal": OTHER}))
    assert (base.name, base.run) == ("pretrained", BASE)
    assert (causal.name, causal.run, causal.kind) == ("causal", OTHER, "pretrained")
    assert base.position < causal.position


def test_a_further_run_is_compared_with_the_base_only() -> None:
    base, causal = PretrainedArm.planned(ArmOptions(base=BASE, others={"causal": OTHER}))
    assert base.opponents == ("scratch", "tfidf")
    assert causal.opponents == ("pretrained",)

"""The evidence that pretrained weights were used."""

from __future__ import annotations

from collections.abc import Callable

from greffe.config.options import Training
from greffe.data.tables import Example
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.samples.toy import toy_reviews
from greffe.study.arms import ArmOptions, Cell
from greffe.study.cell_inputs import CellInputs
from greffe.study.folder import CellResult
from greffe.study.layer_changes import PartMove
from greffe.study.parts import part_data
from greffe.study.plan import plan_arms
from greffe.study.transfer_proof import prove_transfer


def test_tensors_hashes_moves_and_probes(fresh_run: Callable[..., RunDirectory]) -> None:
    base, other = fresh_run("base"), fresh_run("other", ["a", "b"])
    arms = plan_arms(ArmOptions(base=base, others={"other": other}))
    pool = [Example(text, label) for label, text in toy_reviews(60, seed=5)]
    inputs = CellInputs(part_data(pool, pool[:10], pool[:10], seed=0), Training())
    results = {
        Cell(arm, 60, seed, is_full=True): CellResult(
            probabilities=[],
            validation=None,
            seconds=0.0,
            initial_base=f"{arm.name} {seed}",
            moves=[PartMove(part="embedding", tensors=1, moved=0.1 * seed)],
        )
        for arm in arms[:2]
        for seed in (1, 3)
    }
    with quiet():
        proof = prove_transfer({"pretrained": base, "other": other}, inputs, results, seed=0)
    assert proof.taken and all(name.startswith("base.") for name in proof.taken)
    assert all(name.startswith("heads.classification.") for name in proof.new)
    assert proof.base_hash == inputs.base_hash(base)
    assert proof.initial_hashes == {
        "pretrained": ["pretrained 1", "pretrained 3"],
        "scratch": ["scratch 1", "scratch 3"],
    }
    [move] = proof.moves
    assert move.moved == {"pretrained": 0.2, "scratch": 0.2}
    assert [probe.name for probe in proof.probes] == ["pretrained", "random", "other"]


def test_too_few_texts_to_hold_some_out_give_no_probes(
    fresh_run: Callable[..., RunDirectory],
) -> None:
    base = fresh_run("base")
    few = [Example("un bon livre", "a"), Example("un film raté", "b")]
    inputs = CellInputs(part_data(few, few, few, seed=0), Training())
    with quiet():
        assert not prove_transfer({"pretrained": base}, inputs, {}, seed=0).probes

"""Transfer proof: which tensors came from where, how far they moved, what a base knows as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from greffe.baselines.probe import probe_accuracy
from greffe.evaluation.intervals import seeds_estimate
from greffe.model.heads.classification import ClassificationHead
from greffe.model.model import Model, build_model
from greffe.model.weights import BASE, tensors_hash, transfer
from greffe.pipelines.finetune_recipe import choose_direction
from greffe.run import RunDirectory
from greffe.study.document import LayerMove, Probe, TransferProof
from greffe.study.folder import CellResult
from greffe.study.parts import Parts
from greffe.study.plan import PRETRAINED, ArmPlan, Cell
from greffe.training.checkpoint import load_classification_tokenizer, load_model, run_weights


def base_hashes(runs: Mapping[Path, RunDirectory]) -> dict[Path, str]:
    """The hash of each run's base, as a training that starts from it must record it."""
    result = {}
    for path, run in runs.items():
        weights, _ = run_weights(run)
        result[path] = tensors_hash(
            {name: value for name, value in weights.items() if name.startswith(BASE)}
        )
    return result


def prove_transfer(
    arms: Sequence[ArmPlan], parts: Parts, results: Mapping[Cell, CellResult], *, seed: int
) -> TransferProof:
    """Everything that shows whether the pretraining was really there."""
    base = next(arm.run for arm in arms if arm.name == PRETRAINED)
    assert base is not None
    recipe, manifest = base.recipe(), base.manifest()
    head = ClassificationHead(classes=len(parts.labels))
    fresh = build_model(recipe.model, manifest.vocab, {"classification": head}, seed)
    weights, _ = run_weights(base)
    taken = transfer(fresh, weights, base.name, keep_heads=False)
    full = {cell: result for cell, result in results.items() if cell.is_full and result.moves}
    return TransferProof(
        taken=taken.taken,
        new=taken.new,
        left=taken.left,
        base_hash=base_hashes({base.path: base})[base.path],
        initial_hashes={
            arm.name: [
                result.initial_base or "" for cell, result in full.items() if cell.arm == arm
            ]
            for arm in arms
            if any(cell.arm == arm for cell in full)
        },
        moves=_moves(full),
        probes=_probes(arms, parts, seed),
    )


def _moves(full: Mapping[Cell, CellResult]) -> list[LayerMove]:
    tensors: dict[str, int] = {}
    moved: dict[str, dict[str, list[float]]] = {}
    for cell, result in full.items():
        for move in result.moves:
            tensors[move.part] = move.tensors
            moved.setdefault(move.part, {}).setdefault(cell.arm.name, []).append(move.moved)
    return [
        LayerMove(
            part=part,
            tensors=tensors[part],
            moved={arm: sum(values) / len(values) for arm, values in by_arm.items()},
        )
        for part, by_arm in moved.items()
    ]


def _probes(arms: Sequence[ArmPlan], parts: Parts, seed: int) -> list[Probe]:
    """A linear classifier on each untouched base, and on a random one of the first one's shape."""
    probes = []
    for arm in arms:
        if arm.kind != "pretrained":
            continue
        assert arm.run is not None
        probes.append(_probe(arm.name, load_model(arm.run), arm.run, parts, seed))
        if arm.name == PRETRAINED:
            recipe, manifest = arm.run.recipe(), arm.run.manifest()
            random = build_model(recipe.model, manifest.vocab, {}, seed).eval()
            probes.append(_probe("random", random, arm.run, parts, seed))
    return probes


def _probe(name: str, model: Model, run: RunDirectory, parts: Parts, seed: int) -> Probe:
    direction = choose_direction(run.recipe().classification, run.manifest().directions)
    values = probe_accuracy(
        model,
        load_classification_tokenizer(run),
        parts.train,
        parts.labels,
        causal=direction == "causal",
        seed=seed,
    )
    return Probe(name=name, accuracy=seeds_estimate(values, (0.0, 1.0)))

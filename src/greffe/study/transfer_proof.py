"""Transfer proof: which tensors came from where, how far they moved, what a base knows as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from greffe.baselines.probe import probe_accuracy
from greffe.evaluation.intervals import seeds_estimate
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import Model, build_model
from greffe.model.weights import transfer
from greffe.pipelines.finetune_recipe import choose_direction
from greffe.run import RunDirectory
from greffe.study.arms import Cell
from greffe.study.cell_inputs import CellInputs
from greffe.study.document import LayerMove, Probe, TransferProof
from greffe.study.folder import CellResult
from greffe.study.parts import Parts
from greffe.training.checkpoint import load_classification_tokenizer, load_model, run_weights


def prove_transfer(
    bases: Mapping[str, RunDirectory],
    inputs: CellInputs,
    results: Mapping[Cell, CellResult],
    *,
    seed: int,
) -> TransferProof:
    """Return the evidence that the pretrained weights were in the models that should have them.

    `bases` are by the names of their arms, the study's base first.
    """
    parts, base = inputs.parts, next(iter(bases.values()))
    recipe, manifest = base.recipe(), base.manifest()
    head = ClassificationHead(classes=len(parts.labels))
    fresh = build_model(recipe.model, manifest.vocab, {"classification": head}, seed)
    weights, _ = run_weights(base)
    taken = transfer(fresh, weights, base.name, keep_heads=False)
    full = {cell: result for cell, result in results.items() if cell.is_full and result.moves}
    initial_hashes: defaultdict[str, list[str]] = defaultdict(list)
    for cell, result in full.items():
        initial_hashes[cell.arm.name].append(result.initial_base or "")
    return TransferProof(
        taken=taken.taken,
        new=taken.new,
        left=taken.left,
        base_hash=inputs.base_hash(base),
        initial_hashes=initial_hashes,
        moves=_moves(full),
        probes=_probes(bases, parts, seed),
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


def _probes(bases: Mapping[str, RunDirectory], parts: Parts, seed: int) -> list[Probe]:
    """Probe each untouched base, and random weights in the architecture of the first one."""
    probes: list[Probe] = []
    for number, (name, run) in enumerate(bases.items()):
        probes += _probe(name, load_model(run), run, parts, seed)
        if number == 0:
            recipe, manifest = run.recipe(), run.manifest()
            random = build_model(recipe.model, manifest.vocab, {}, seed).eval()
            probes += _probe("random", random, run, parts, seed)
    return probes


def _probe(name: str, model: Model, run: RunDirectory, parts: Parts, seed: int) -> list[Probe]:
    """Return the probe of a model; none if there are too few texts to hold some out."""
    direction = choose_direction(run.recipe().classification, run.manifest().directions)
    values = probe_accuracy(
        model,
        load_classification_tokenizer(run),
        parts.train,
        parts.labels,
        causal=direction == "causal",
        seed=seed,
    )
    return [Probe(name=name, accuracy=seeds_estimate(values, (0.0, 1.0)))] if values else []

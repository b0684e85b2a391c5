"""A linear classifier as an ordinary run: written whole, opened and asked like any classifier.

A stacked one carries its base with it (recipe, tokenizer, weights); TF-IDF alone needs none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from greffe.checkpoint import load_tokenizer, run_weights
from greffe.inference.predict import Prediction
from greffe.linear.classifier import LinearClassifier
from greffe.linear.features import BaseReader
from greffe.run import Manifest, RunDirectory, new_lineage
from greffe.weights import BASE, save_tensors, tensors_hash

BLOCK_TEXTS = 512


def write_linear_run(
    folder: Path,
    classifier: LinearClassifier,
    labels: list[str],
    *,
    parent: RunDirectory | None,
    threads: int,
    data: dict[str, str],
    result: dict[str, Any],
) -> RunDirectory:
    """Everything that prediction needs; the manifest comes last and makes the folder a run."""
    run = RunDirectory(folder)
    classifier.save(folder)
    weights_hash, parent_hash, base = None, None, {}
    if parent is not None:
        run.write_recipe(parent.recipe())
        load_tokenizer(parent).save(run.tokenizer_path)
        weights, parent_hash = run_weights(parent)
        base = {name: tensor for name, tensor in weights.items() if name.startswith(BASE)}
        weights_hash = save_tensors(run.weights_path, base)
    known = parent.manifest() if parent is not None else None
    reads_causally = classifier.base is not None and classifier.base.causal
    run.write_manifest(
        Manifest(
            kind="linear",
            status="finished",
            vocab=known.vocab if known else 0,
            heads={},
            directions=known.directions if known else [],
            labels=labels,
            direction=None if known is None else "causal" if reads_causally else "bidirectional",
            lineage=new_lineage(
                threads=threads,
                parent=parent.name if parent else None,
                parent_weights=parent_hash,
                initial_base=tensors_hash(base) if base else "",
                tokenizer=known.lineage.tokenizer if known else "",
                data=data,
            ),
            weights=weights_hash,
            result=result,
        )
    )
    return run


def load_linear(run: RunDirectory) -> LinearClassifier:
    """The classifier of a linear run, with its base if it has one."""
    has_base = run.manifest().weights is not None
    return LinearClassifier.load(run.path, BaseReader.of(run) if has_base else None)


def predict_linear(
    classifier: LinearClassifier, labels: Sequence[str], texts: Iterable[str]
) -> Iterator[Prediction]:
    """A prediction a text, in order; reads the texts in blocks, never all at once."""
    stream = iter(texts)
    while block := list(islice(stream, BLOCK_TEXTS)):
        for shares in classifier.probabilities(block):
            best = int(shares.argmax())
            yield Prediction(
                label=labels[best],
                score=float(shares[best]),
                probabilities=dict(zip(labels, shares.tolist(), strict=True)),
            )

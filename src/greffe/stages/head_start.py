"""How a new classification head begins: as a linear classifier of what the untouched base says.

The idea: a random head pulls the base about before it knows what it wants. LOG.md has what it
brought.
"""

from __future__ import annotations

import numpy as np
import torch

from greffe.config import Classification
from greffe.data.tokenizer import Tokenizer
from greffe.inference.batched import read_rows
from greffe.linear.blocks import standardised
from greffe.linear.solving import Regression
from greffe.model import heads
from greffe.model.model import Model
from greffe.progress import notice
from greffe.seeding import rng
from greffe.stages.labelled import LabelledRows
from greffe.world import World

PROBED_ROWS = 4_000
PENALTY = 2.0
"""C for features of unit length (LOG.md)."""


def start_head(
    model: Model,
    rows: LabelledRows,
    tokenizer: Tokenizer,
    spec: Classification,
    *,
    causal: bool,
    seed: int,
    world: World,
) -> None:
    """Fit the head's layer to the base's features of at most PROBED_ROWS rows."""
    if spec.head_start == "random":
        return
    head = model.heads["classification"]
    assert isinstance(head, heads.Classification)
    count = min(len(rows.ids), PROBED_ROWS)
    drawn = np.sort(rng(seed, "head start").choice(len(rows.ids), count, replace=False))
    features = read_rows(
        model,
        [rows.ids[place] for place in drawn],
        lambda ids, lengths: heads.pool(
            model.base(ids, causal=causal, lengths=lengths), lengths, head.pooler
        ),
        head.score.in_features,
        pad=tokenizer.pad,
    ).numpy()
    if not np.isfinite(features).all():
        return  # training itself says what is wrong with such a base
    mean, scale, unit = standardised([features])
    solution = Regression(unit, rows.truth[drawn], head.score.out_features).solve(PENALTY)
    weights = solution.weights * scale[:, None]  # [features, classes]
    bias = solution.bias - mean @ weights
    if spec.class_weights == "balanced":  # as if all classes were equally frequent
        counts = np.bincount(rows.truth[drawn], minlength=len(bias))
        bias -= np.log(np.maximum(counts, 1))
    with torch.no_grad():
        head.score.weight.copy_(torch.from_numpy(weights.T))
        head.score.bias.copy_(torch.from_numpy(bias))
        for parameter in head.score.parameters():
            world.copy_from_main(parameter.data)
    notice(f"head: begins as a linear classifier of what the base says of {count:,} rows")

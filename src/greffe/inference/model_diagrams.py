"""Diagrams of a model's attention mask and positions.

The values come from the model's mask builder and position scheme themselves.
"""

from __future__ import annotations

import torch

from greffe.config.bounds import Drawn, check_number
from greffe.config.sections import ModelSpec
from greffe.errors import InputError
from greffe.model.attention import build_mask
from greffe.model.diagrams import KEY, QUERY, Diagram, Label, Panel
from greffe.model.model import build_model
from greffe.model.positions.scheme import PositionScheme, default_positions


def mask_diagram(causal: bool, size: int) -> Diagram:
    """Return which of `size` tokens may attend to which."""
    _check_size(size)
    mask = build_mask(size, causal=causal)
    scores = torch.zeros(1, 1, size, size)
    # With a bias of zero, the scores are the mask: -inf where attention is forbidden, else 0.
    shown = mask.with_bias(scores).scores
    assert shown is not None
    title = (
        Label("causal_mask", "Causal attention mask")
        if causal
        else Label("bidirectional_mask", "Bidirectional attention mask")
    )
    panel = Panel(None, shown[0, 0].isfinite().float(), QUERY, KEY)
    meaning = Label("may_attend", "may attend")
    return Diagram(title, meaning, (panel,), low=0.0, high=1.0, is_choice=True)


def positions_diagram(spec: ModelSpec, size: int, scheme: PositionScheme | None = None) -> Diagram:
    """Return what the first `size` positions do; `scheme` is that of a trained model."""
    _check_size(size)
    shown = fresh_scheme(spec) if scheme is None else scheme
    positions = default_positions(size, device=torch.device("cpu"))
    with torch.no_grad():
        return shown.diagram(spec, positions)


def fresh_scheme(spec: ModelSpec) -> PositionScheme:
    """Return the scheme as a new model of this shape has it."""
    alone = spec.model_copy(update={"layers": 0})
    return build_model(alone, vocab=1, heads={}, seed=0).base.position


def _check_size(size: int) -> None:
    if size < 1:
        raise InputError(
            "A diagram needs at least one token.", expected="1 or more", found=f"{size}"
        )
    check_number("size", size, Drawn, example="--size 64")

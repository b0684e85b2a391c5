"""What there is to see of a model: its attention mask and its positions, as plain matrices.

Everything comes from the model's own mask builder and position scheme, never from a formula of
its own. Knows nothing of how a matrix is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from greffe.config.recipe import ModelSpec
from greffe.errors import InputError
from greffe.model.attention import build_mask
from greffe.model.model import build_model
from greffe.model.positions import (
    Alibi,
    Learned,
    NoPosition,
    PositionScheme,
    Rotary,
    Sinusoidal,
    default_positions,
)

NO_POSITIONS = "No positions: nothing tells this model where in the row a token stands"


@dataclass(frozen=True)
class Panel:
    """One matrix [rows, columns] with its labels."""

    title: str
    values: Tensor
    row_label: str
    column_label: str


@dataclass(frozen=True)
class View:
    """Panels that are read together, on one scale from `low` to `high`."""

    title: str
    meaning: str
    """What a value says, for a colour bar or a legend."""
    panels: tuple[Panel, ...]
    low: float
    high: float
    is_choice: bool = False
    """Values are 0 or 1 only: no or yes."""


def mask_view(causal: bool, size: int) -> View:
    """Who may look at whom among `size` tokens, as attention is told."""
    _check_size(size)
    mask = build_mask(size, causal=causal)
    scores = torch.zeros(1, 1, size, size)
    # With a bias of zero the mask shows itself: -inf where it forbids, 0 elsewhere.
    shown = mask.with_bias(scores).scores
    assert shown is not None
    title = "Causal attention mask" if causal else "Bidirectional attention mask"
    panel = Panel("", shown[0, 0].isfinite().float(), "token that reads", "token it may look at")
    return View(title, "may look", (panel,), low=0.0, high=1.0, is_choice=True)


def positions_view(spec: ModelSpec, size: int, scheme: PositionScheme | None = None) -> View:
    """What the first `size` positions do to a model; `scheme` is a trained model's own."""
    _check_size(size)
    shown = fresh_scheme(spec) if scheme is None else scheme
    positions = default_positions(size, device=torch.device("cpu"))
    with torch.no_grad():
        match shown:
            case Sinusoidal() | Learned():
                return _added(spec, shown, positions)
            case Rotary():
                return _turned(shown, positions)
            case Alibi():
                return _lowered(shown, positions)
            case NoPosition():
                return View(NO_POSITIONS, "", (), low=0.0, high=0.0)
            case _:
                raise AssertionError(f"no view of {type(shown).__name__}")


def fresh_scheme(spec: ModelSpec) -> PositionScheme:
    """The scheme as a new model of this shape has it."""
    alone = spec.model_copy(update={"layers": 0})
    return build_model(alone, vocab=1, heads={}, seed=0).base.position


def _added(spec: ModelSpec, scheme: PositionScheme, positions: Tensor) -> View:
    is_learned = isinstance(scheme, Learned)
    if is_learned:
        positions = positions[:, : spec.context]
    values = scheme.embed(torch.zeros(1, positions.shape[1], spec.width), positions)[0]
    limit = float(values.abs().max()) if is_learned else 1.0
    title = "Learned positions" if is_learned else "Sinusoidal positions"
    panel = Panel("", values, "position", "column of the token's vector")
    return View(title, "added to the embedding", (panel,), low=-limit, high=limit)


def _turned(scheme: Rotary, positions: Tensor) -> View:
    cosines = scheme.angles(positions, torch.float32).cos()[0]
    panel = Panel("", cosines, "position", "pair of columns of a query or key")
    return View("Rotary positions", "cosine of the angle", (panel,), low=-1.0, high=1.0)


def _lowered(scheme: Alibi, positions: Tensor) -> View:
    bias = scheme.bias(positions, positions)[0]
    panels = tuple(
        Panel(f"head {head}, slope {slope:.3g}", bias[head], "token that reads", "token read")
        for head, slope in enumerate(scheme.slopes())
    )
    return View("ALiBi positions", "added to the score", panels, low=float(bias.min()), high=0.0)


def _check_size(size: int) -> None:
    if size < 1:
        raise InputError(
            "A drawing needs at least one token.", expected="1 or more", found=f"{size}"
        )

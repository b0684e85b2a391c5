"""A converted base computes what the base does, within the error of its precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.inference import inference_base
from greffe.inference.inference_base import InferenceBase
from greffe.model.attention import Cache
from greffe.model.base import Base
from greffe.model.model import Model, build_model
from greffe.model.positions.alibi import Alibi
from greffe.model.positions.learned import Learned
from greffe.model.positions.none import NoPosition
from greffe.model.positions.rotary import Rotary
from greffe.model.positions.sinusoidal import Sinusoidal

SCHEMES = [Rotary(), Alibi(), Learned(), Sinusoidal(), NoPosition()]
ERRORS = {False: 0.02, True: 0.04}
"""Mean error of hidden states, in their standard deviations, in bf16 and in int8."""


def base_of(
    position: PositionSpec, norm: str = "pre", activation: str = "gelu", **choices: Any
) -> Base:
    spec = ModelSpec(
        width=64,
        layers=2,
        heads=4,
        feed_forward=128,
        context=32,
        position=position,
        norm=norm,
        activation=activation,
        dropout=0.5,
        **choices,
    )
    base = build_model(spec, 100, {}, seed=1).base.eval()
    with torch.no_grad():
        for number, parameter in enumerate(base.parameters()):
            if parameter.ndim == 2:
                generator = torch.Generator().manual_seed(number)
                parameter.normal_(0.0, 0.1, generator=generator)
    return base


def error(base: Base, *, int8: bool, causal: bool, lengths: list[int] | None) -> float:
    ids = torch.randint(0, 100, (3, 20), generator=torch.Generator().manual_seed(0))
    counted = None if lengths is None else torch.tensor(lengths)
    with torch.inference_mode():
        exact = base(ids, causal=causal, lengths=counted)
        found = InferenceBase(base, int8=int8)(ids, causal=causal, lengths=counted)
    is_real = torch.arange(20) < (torch.tensor(lengths or [20] * 3))[:, None]
    difference = (found.float() - exact)[is_real].abs().mean()
    return float(difference / exact[is_real].std())


@pytest.mark.parametrize("longest", [512, 8], ids=["products", "fused"])
@pytest.mark.parametrize("lengths", [None, [20, 19, 17]])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("position", SCHEMES, ids=lambda scheme: scheme.kind)
@pytest.mark.parametrize("int8", [False, True], ids=["bf16", "int8"])
def test_hidden_states_are_those_of_the_base(
    int8: bool,
    position: PositionSpec,
    causal: bool,
    lengths: list[int] | None,
    longest: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inference_base, "LONGEST", longest)
    found = error(base_of(position), int8=int8, causal=causal, lengths=lengths)
    assert 0 < found < ERRORS[int8]


@pytest.mark.parametrize("part_tokens", [1024, 7])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("int8", [False, True], ids=["bf16", "int8"])
def test_norms_activations_and_parts(
    int8: bool, norm: str, activation: str, part_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference_base, "PART_TOKENS", part_tokens)
    base = base_of(Rotary(), norm, activation)
    assert 0 < error(base, int8=int8, causal=False, lengths=[20, 3, 20]) < ERRORS[int8]


@pytest.mark.parametrize("lengths", [None, [20, 3, 17]])
@pytest.mark.parametrize("longest", [512, 8], ids=["products", "fused"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("embedding_width", [0, 32])
@pytest.mark.parametrize("int8", [False, True], ids=["bf16", "int8"])
def test_a_normalized_embedding_of_another_width(
    int8: bool,
    embedding_width: int,
    norm: str,
    longest: int,
    lengths: list[int] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inference_base, "LONGEST", longest)
    base = base_of(Learned(), norm, embedding_norm=True, embedding_width=embedding_width)
    assert 0 < error(base, int8=int8, causal=False, lengths=lengths) < ERRORS[int8]


def test_a_cache_is_not_for_it() -> None:
    converted = InferenceBase(base_of(Rotary()), int8=False)
    with pytest.raises(AssertionError):
        converted(torch.zeros(1, 4, dtype=torch.int64), causal=True, cache=Cache(2))


def test_the_base_keeps_its_weights(make_model: Callable[..., Model]) -> None:
    base = make_model("classification").base
    before = {name: weight.clone() for name, weight in base.state_dict().items()}
    InferenceBase(base, int8=True)
    InferenceBase(base, int8=False)
    assert all(torch.equal(before[name], weight) for name, weight in base.state_dict().items())

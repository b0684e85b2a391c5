"""What every registered position scheme must do: a new one is tested without a change here."""

from __future__ import annotations

import pytest
import torch

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.model.positions.none import NoPosition
from greffe.model.positions.scheme import PositionScheme

KINDS = list(PositionSpec.kinds().values())


def scheme_of(kind: type) -> tuple[ModelSpec, PositionScheme]:
    spec = ModelSpec(width=12, heads=3, context=16, position=kind())
    scheme = spec.position.build(spec)
    for parameter in scheme.parameters():
        torch.nn.init.normal_(parameter)
    return spec, scheme


@pytest.mark.parametrize("kind", KINDS)
def test_hooks_keep_shapes_with_shared_and_with_separate_positions(kind):
    spec, scheme = scheme_of(kind)
    x = torch.randn(2, 5, spec.width)
    q, k = torch.randn(2, 2, spec.heads, 5, 4)
    for positions in (torch.arange(5)[None], torch.tensor([[0, 1, 2, 0, 1], [0, 1, 2, 3, 4]])):
        assert scheme.embed(x, positions).shape == x.shape
        turned = scheme.rotate(q, k, positions)
        assert [part.shape for part in turned] == [q.shape, k.shape]
        bias = scheme.bias(positions, positions)
        assert bias is None or bias.shape == (len(positions), spec.heads, 5, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_those_of_the_formula_and_there_are_no_buffers(kind):
    spec, scheme = scheme_of(kind)
    counted = sum(parameter.numel() for parameter in scheme.parameters())
    assert counted == spec.position.parameters(spec)[1]
    assert list(scheme.buffers()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_diagram_has_one_row_per_position(kind):
    spec, scheme = scheme_of(kind)
    diagram = scheme.diagram(spec, torch.arange(7)[None])
    assert diagram.title
    for panel in diagram.panels:
        assert panel.values.shape[0] == 7
        assert (panel.values.shape == (7, 7)) == spec.position.is_pairwise
        assert diagram.low <= panel.values.min() <= panel.values.max() <= diagram.high


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not NoPosition])
def test_every_scheme_but_none_distinguishes_positions(kind):
    spec, scheme = scheme_of(kind)
    here, there = torch.tensor([[1]]), torch.tensor([[4]])
    x = torch.randn(1, 1, spec.width)
    q, k = torch.randn(2, 1, spec.heads, 1, 4)
    origin = torch.tensor([[0]])
    biases = [scheme.bias(position, origin) for position in (here, there)]
    assert (
        not torch.equal(scheme.embed(x, here), scheme.embed(x, there))
        or not torch.equal(scheme.rotate(q, k, here)[0], scheme.rotate(q, k, there)[0])
        or (biases[0] is not None and not torch.equal(biases[0], biases[1]))
    )

"""Position schemes: what every registered one must do, and what each one does."""

from __future__ import annotations

import math

import pytest
import torch

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.errors import InputError
from greffe.model.positions.alibi import AlibiPositions
from greffe.model.positions.learned import LearnedPositions
from greffe.model.positions.none import NoPosition
from greffe.model.positions.rotary import RotaryPositions
from greffe.model.positions.scheme import PositionScheme, default_positions
from greffe.model.positions.sinusoidal import SinusoidalPositions

torch.set_num_threads(1)

KINDS = list(PositionSpec.kinds().values())
CPU = torch.device("cpu")


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


@pytest.mark.parametrize("width", [1, 2, 7, 8])
def test_sinusoidal_is_the_original_formula(width):
    table = SinusoidalPositions(width).embed(torch.zeros(1, 30, width), torch.arange(30)[None])[0]
    for position in range(30):
        for column in range(width):
            angle = position / 10_000 ** ((column - column % 2) / width)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert table[position, column].item() == pytest.approx(expected, abs=2e-6)


def test_half_precision_distinguishes_distant_positions():
    positions = torch.tensor([[4000, 4001]])
    table = SinusoidalPositions(8).embed(torch.zeros(1, 2, 8, dtype=torch.bfloat16), positions)
    assert table.dtype == torch.bfloat16
    assert not torch.equal(table[0, 0], table[0, 1])


def test_learned_adds_its_rows_and_refuses_positions_beyond_them():
    scheme = LearnedPositions(context=8, width=3)
    torch.nn.init.normal_(scheme.weight)
    x = torch.randn(2, 2, 3)
    positions = torch.tensor([[7, 0]])
    torch.testing.assert_close(scheme.embed(x, positions), x + scheme.weight[[7, 0]])
    with pytest.raises(InputError) as caught:
        scheme.embed(torch.zeros(1, 1, 3), torch.tensor([[8]]))
    message = str(caught.value)
    assert "at most 8 tokens" in message
    assert "9 tokens" in message
    assert "rotary" in message


def test_rotary_scores_depend_on_distance_only_and_norms_are_kept():
    scheme = RotaryPositions(head_width=6, base=100.0)
    q, k = torch.randn(2, 1, 2, 4, 6, dtype=torch.float64)
    positions = torch.tensor([[0, 1, 5, 9]])
    scores = []
    for shift in (0, 1000):
        turned_q, turned_k = scheme.rotate(q, k, positions + shift)
        scores.append(turned_q @ turned_k.transpose(-1, -2))
        torch.testing.assert_close(turned_q.norm(dim=-1), q.norm(dim=-1))
    torch.testing.assert_close(scores[0], scores[1])
    assert not torch.allclose(scores[0], q @ k.transpose(-1, -2))


def test_rotary_rotates_each_pair_by_position_times_frequency():
    scheme = RotaryPositions(head_width=4, base=100.0)
    q = torch.tensor([1.0, 0.0, 0.0, 1.0]).view(1, 1, 1, 4)
    turned, _ = scheme.rotate(q, q, torch.tensor([[3]]))
    slow = 3 / 100 ** (2 / 4)
    expected = [math.cos(3), math.sin(3), -math.sin(slow), math.cos(slow)]
    torch.testing.assert_close(turned.flatten(), torch.tensor(expected))


def test_alibi_is_minus_slope_times_distance_on_both_sides():
    scheme = AlibiPositions(heads=4)
    assert scheme.slopes() == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8]
    bias = scheme.bias(torch.tensor([[2, 5]]), torch.tensor([[0, 2, 9]]))
    for head, slope in enumerate(scheme.slopes()):
        expected = torch.tensor([[-2 * slope, 0, -7 * slope], [-5 * slope, -3 * slope, -4 * slope]])
        torch.testing.assert_close(bias[0, head], expected)


def test_default_positions_continue_after_the_past_and_restart_in_each_document():
    assert default_positions(3, past=4, device=CPU).tolist() == [[4, 5, 6]]
    documents = torch.tensor([[0, 0, 0, 1, 1, 2], [7, 7, 3, 3, 3, 3]])
    restarted = default_positions(6, documents=documents, device=CPU)
    assert restarted.tolist() == [[0, 1, 2, 0, 1, 0], [0, 1, 0, 1, 2, 3]]

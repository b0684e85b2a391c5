from __future__ import annotations

import pytest
import torch

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.errors import InputError
from greffe.inference.model_diagrams import mask_diagram, positions_diagram
from greffe.model.positions.alibi import Alibi
from greffe.model.positions.learned import Learned, LearnedPositions
from greffe.model.positions.none import NoPosition
from greffe.model.positions.rotary import Rotary, RotaryPositions
from greffe.model.positions.sinusoidal import Sinusoidal, SinusoidalPositions

torch.set_num_threads(1)

KINDS = list(PositionSpec.kinds().values())


def spec_of(kind: type) -> ModelSpec:
    return ModelSpec(width=12, heads=3, context=10, position=kind())


def test_the_mask_is_a_triangle_or_full():
    assert mask_diagram(True, 3).panels[0].values.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert mask_diagram(False, 2).panels[0].values.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("kind", KINDS)
def test_every_scheme_has_a_diagram_on_its_scale(kind):
    diagram = positions_diagram(spec_of(kind), 7)
    assert diagram.title
    assert bool(diagram.panels) is (kind is not NoPosition)
    for panel in diagram.panels:
        assert panel.values.shape[0] == 7
        assert diagram.low <= panel.values.min() <= panel.values.max() <= diagram.high


def test_diagrams_show_what_the_model_uses():
    positions = torch.arange(7)[None]
    seen = positions_diagram(spec_of(Sinusoidal), 7).panels[0].values
    assert torch.equal(seen, SinusoidalPositions(12).table(positions, torch.float32)[0])
    seen = positions_diagram(spec_of(Rotary), 7).panels[0].values
    assert torch.equal(seen, RotaryPositions(4, 10_000.0).angles(positions, torch.float32).cos()[0])
    heads = positions_diagram(spec_of(Alibi), 7).panels
    assert len(heads) == 3
    assert heads[2].values[0, 6].item() == pytest.approx(-6 * 2.0**-8)


def test_a_trained_models_own_vectors_are_shown_up_to_its_context():
    scheme = LearnedPositions(context=10, width=12)
    torch.nn.init.normal_(scheme.weight)
    seen = positions_diagram(spec_of(Learned), 99, scheme).panels[0].values
    assert torch.equal(seen, scheme.weight)


@pytest.mark.parametrize("size", [0, -1])
def test_nothing_cannot_be_drawn(size):
    with pytest.raises(InputError, match="at least one token"):
        mask_diagram(True, size)
    with pytest.raises(InputError, match="at least one token"):
        positions_diagram(spec_of(Rotary), size)

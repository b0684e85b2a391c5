from __future__ import annotations

import json

import pytest
import torch

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.inference.matrices import PANELS, model_matrices
from greffe.inference.model_diagrams import positions_diagram
from greffe.model.positions.alibi import Alibi
from greffe.model.positions.learned import Learned, LearnedPositions
from greffe.model.positions.none import NoPosition
from greffe.model.positions.sinusoidal import Sinusoidal

KINDS = list(PositionSpec.kinds().values())


def test_the_mask_comes_first_as_yes_and_no() -> None:
    for causal in (True, False):
        mask = model_matrices(ModelSpec(), causal)[0]
        assert mask.is_choice
        assert len(mask.values) == 16
        expected = [[float(key <= token or not causal) for key in range(16)] for token in range(16)]
        assert mask.values == expected
        assert mask.title.id == ("causal_mask" if causal else "bidirectional_mask")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [48, 512])
def test_every_scheme_is_small_and_fits_the_document(kind: type[PositionSpec], width: int) -> None:
    spec = ModelSpec(width=width, heads=8, context=256, position=kind())
    mask, *positions = model_matrices(spec, causal=True)
    assert bool(positions) is (kind is not NoPosition)
    assert len(positions) <= PANELS
    for picture in (mask, *positions):
        flat = [value for row in picture.values for value in row]
        assert picture.low <= min(flat) <= max(flat) <= picture.high
        assert all(value == round(value, 4) for value in flat)
        assert len({len(row) for row in picture.values}) == 1
    for picture in positions:
        assert len(picture.values) == 64
        assert len(picture.values[0]) <= 128
    assert len(json.dumps([picture.model_dump() for picture in (mask, *positions)])) < 150_000


def test_values_are_those_of_the_view() -> None:
    spec = ModelSpec(width=64, heads=2, position=Sinusoidal())
    _, shown = model_matrices(spec, causal=False)
    expected = positions_diagram(spec, 64).panels[0].values
    torch.testing.assert_close(torch.tensor(shown.values), expected, atol=5.1e-5, rtol=0)
    assert shown.column_label.id == "vector_dimension"


@pytest.mark.parametrize("width", [130, 257, 512])
def test_thinned_columns_stay_pairs_over_the_whole_width_and_say_so(width: int) -> None:
    spec = ModelSpec(width=width, heads=1, position=Sinusoidal())
    _, shown = model_matrices(spec, causal=False)
    values = torch.tensor(shown.values)
    assert values.shape == (64, 128)
    torch.testing.assert_close(
        values[:, ::2] ** 2 + values[:, 1::2] ** 2, torch.ones(64, 64), atol=2e-4, rtol=0
    )
    everything = positions_diagram(spec, 64).panels[0].values
    ends = [0, 1, 2 * (width // 2) - 2, 2 * (width // 2) - 1]
    torch.testing.assert_close(values[:, [0, 1, -2, -1]], everything[:, ends], atol=5.1e-5, rtol=0)
    assert shown.column_label.id == "vector_dimension_thinned"
    assert shown.column_label.numbers == {"drawn": 128, "total": width}


def test_heads_are_spread_from_the_steepest_to_the_flattest() -> None:
    spec = ModelSpec(width=64, heads=16, position=Alibi())
    titles = [picture.title for picture in model_matrices(spec, causal=True)[1:]]
    assert {title.id for title in titles} == {"alibi_head"}
    assert [title.numbers["head"] for title in titles] == [0, 5, 10, 15]


def test_a_trained_models_own_vectors_are_shown() -> None:
    spec = ModelSpec(width=8, heads=2, context=10, position=Learned())
    scheme = LearnedPositions(context=10, width=8)
    torch.nn.init.normal_(scheme.weight)
    mask, shown = model_matrices(spec, True, scheme)
    assert len(mask.values) == 10
    assert shown.values == [[round(value, 4) for value in row] for row in scheme.weight.tolist()]

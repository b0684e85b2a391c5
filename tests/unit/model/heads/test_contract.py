"""What every registered head must do: a new one is tested without a change here."""

from __future__ import annotations

import pytest
import torch
from pydantic import TypeAdapter
from tests.unit.model.heads.filled import EMBEDDING, SHAPE, VOCAB, WIDTH, filled

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec

KINDS = list(HeadSpec.kinds().values())


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_every_head_has_the_parameters_of_its_formula_and_no_buffers(kind, tied):
    spec = kind.for_model(ModelSpec(tied=tied))
    head = spec.build(SHAPE, VOCAB)
    counted = sum(parameter.numel() for parameter in head.parameters())
    assert counted == spec.parameters(SHAPE, VOCAB)[1] > 0
    assert list(head.buffers()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_head_gives_the_declared_number_of_scores(kind):
    spec = kind.for_model(ModelSpec())
    scores = filled(spec.build(SHAPE, VOCAB))(torch.randn(2, 3, WIDTH), EMBEDDING)
    assert scores.shape[0] == 2
    assert scores.shape[-1] == (spec.outputs(VOCAB) or WIDTH)


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_with_a_row_per_piece_are_declared(kind):
    head = kind.for_model(ModelSpec(tied=False)).build(SHAPE, VOCAB)
    by_piece = {name for name, tensor in head.state_dict().items() if len(tensor) == VOCAB}
    assert by_piece == set(kind.by_piece)


@pytest.mark.parametrize("kind", KINDS)
def test_every_head_survives_json(kind):
    heads = {"one": kind.for_model(ModelSpec(tied=False))}
    adapter = TypeAdapter(dict[str, HeadSpec])
    assert adapter.validate_json(adapter.dump_json(heads)) == heads

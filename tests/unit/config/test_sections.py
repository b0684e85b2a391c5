"""Sections of a recipe: choices that contradict each other, and amounts of training."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from greffe.config.sections import FinetuneSpec, ModelSpec, TrainSpec
from greffe.errors import RecipeError
from greffe.model.positions.learned import Learned


@pytest.mark.parametrize("key", ["budget", "evaluate_every", "checkpoint_every"])
@pytest.mark.parametrize("section", [TrainSpec, FinetuneSpec])
def test_spans_are_read_at_once(section: type[TrainSpec], key: str) -> None:
    with pytest.raises(RecipeError, match="not an amount of training"):
        section.model_validate({key: "soon"})


def test_a_budget_is_no_percentage_but_evaluation_may_be() -> None:
    with pytest.raises(RecipeError, match="cannot be a percentage"):
        TrainSpec(budget="5%")
    assert TrainSpec(evaluate_every="5%", checkpoint_every="5%")


def test_an_odd_width_per_head_is_fine_without_rotation() -> None:
    with pytest.raises(ValidationError, match="even width per head"):
        ModelSpec(width=60, heads=4)
    assert ModelSpec(width=60, heads=4, position=Learned()).width == 60

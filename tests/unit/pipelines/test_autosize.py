"""Autosize: the recipe for a budget in time, its limits, and the reasons it prints."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from greffe.config.options import Training
from greffe.config.recipe import Recipe
from greffe.data.text import estimated_bytes
from greffe.model.arithmetic import TRAINING, base_operations, vocabulary_operations
from greffe.objectives.causal import Causal
from greffe.objectives.masked import Masked
from greffe.pipelines import choose_recipe as choosing
from greffe.pipelines.autosize import (
    BATCHES,
    SHAPES,
    TOKENS_PER_WEIGHT,
    VOCABS,
    WEIGHTS_PER_TOKEN,
    autosize,
)
from greffe.pipelines.choose_recipe import autosized_recipe
from greffe.training.distributed import World

SPEED = 150e9
MINUTE = 60.0


def weights(recipe: Recipe) -> int:
    return 12 * recipe.model.width**2 * recipe.model.layers


def shape_index(recipe: Recipe) -> int:
    return SHAPES.index((recipe.model.width, recipe.model.layers))


@pytest.mark.parametrize("seconds", [1, 60, 300, 1200, 3600, 36_000])
@pytest.mark.parametrize("size", [10_000, 1_000_000, 50_000_000, 10**10, None])
def test_every_choice_is_a_valid_recipe_with_three_reasons(
    seconds: float, size: int | None
) -> None:
    autosized = autosize(seconds, size, SPEED)
    recipe = autosized.recipe
    assert recipe == Recipe.model_validate(recipe.model_dump())
    assert (recipe.model.width, recipe.model.layers) in SHAPES
    assert recipe.model.width // recipe.model.heads == 64
    assert recipe.train.batch in BATCHES
    assert recipe.tokenizer.vocab in {pieces for _, pieces in VOCABS}
    assert len(autosized.reasons) == 3
    assert [reason.split(":")[0] for reason in autosized.reasons] == ["machine", "text", "time"]
    shown = " ".join(autosized.reasons)
    assert f"width {recipe.model.width}, {recipe.model.layers} layers" in shown
    assert f"batch {recipe.train.batch}" in shown and f"{recipe.tokenizer.vocab:,} pieces" in shown


def test_more_time_or_a_faster_machine_never_means_a_smaller_base() -> None:
    by_time = [autosize(minutes * MINUTE, 10**9, SPEED).recipe for minutes in range(1, 200)]
    by_speed = [autosize(20 * MINUTE, 10**9, speed * 1e9).recipe for speed in range(5, 800, 5)]
    for recipes in (by_time, by_speed):
        assert all(shape_index(a) <= shape_index(b) for a, b in itertools.pairwise(recipes))
        assert shape_index(recipes[0]) < shape_index(recipes[-1])


def test_a_small_text_gets_a_small_base_and_few_pieces() -> None:
    small, large = (autosize(60 * MINUTE, size, SPEED).recipe for size in (400_000, 500_000_000))
    assert shape_index(small) < shape_index(large)
    assert small.tokenizer.vocab < large.tokenizer.vocab


def test_the_base_is_the_largest_that_time_and_text_allow() -> None:
    for minutes, size in itertools.product((5, 20, 60, 240), (2_000_000, 50_000_000, 10**9)):
        autosized = autosize(minutes * MINUTE, size, SPEED)
        recipe = autosized.recipe
        if shape_index(recipe) == 0:
            continue
        model = recipe.model
        predicted = round(model.context * 0.15)
        row = base_operations(model, [model.context], causal=False)
        row += vocabulary_operations(model.width, recipe.tokenizer.vocab, predicted, transform=True)
        # The speed at this width is not far from the one that was measured.
        tokens = minutes * MINUTE * SPEED * model.context / (TRAINING * row)
        assert 1.3 * tokens > TOKENS_PER_WEIGHT * weights(recipe)
        assert weights(recipe) <= WEIGHTS_PER_TOKEN * size / 4


def test_a_shorter_time_has_smaller_batches() -> None:
    batches = [autosize(minutes * MINUTE, 10**9, SPEED).recipe.train.batch for minutes in (1, 600)]
    assert batches[0] == BATCHES[0] < batches[1]


def test_a_given_vocabulary_and_objective_are_kept() -> None:
    autosized = autosize(1200, None, SPEED, vocab=50_001, objective=Causal())
    assert autosized.recipe.tokenizer.vocab == 50_001
    assert autosized.recipe.objective == Causal()
    assert "50,001 pieces as given" in autosized.reasons[1]
    masked = autosize(1200, None, SPEED, vocab=50_001, objective=Masked())
    # Predicting all tokens of a large vocabulary leaves less time for the base.
    assert shape_index(autosized.recipe) < shape_index(masked.recipe)


def test_the_size_of_text_is_estimated_without_reading_it(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_bytes(b"x" * 1000)
    packed.write_bytes(b"x" * 100)
    assert estimated_bytes([str(plain), str(packed)]) == 1400
    assert estimated_bytes([str(plain), "hf:someone/something"]) is None


def test_the_reasons_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(choosing, "training_speed", lambda *_: SPEED)
    monkeypatch.setattr(choosing, "set_up_compute", lambda: 1)
    text = tmp_path / "text.txt"
    text.write_bytes(b"un deux trois\n" * 100_000)
    recipe = autosized_recipe([text], Training(objective="hybrid", budget="20m"), None, World())
    assert recipe.objective.kind == "hybrid" and recipe.name == "autosized"
    shown = capsys.readouterr().err
    assert (
        "machine: 150 billion" in shown and "text: 1.4M bytes" in shown and "time: 20 min" in shown
    )

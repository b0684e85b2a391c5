"""A pretraining with a budget in time and no recipe is autosized once, not again on resume."""

from __future__ import annotations

from pathlib import Path

import pytest

from greffe.config.option_groups import flat_keywords
from greffe.errors import RecipeError
from greffe.pipelines import choose_recipe as choosing
from greffe.pipelines import pretrain as pretrain_module
from greffe.samples.toy import toy_documents

pretrain = flat_keywords(pretrain_module.pretrain)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(toy_documents(300, seed=0)), "utf-8")
    return path


@pytest.fixture
def speeds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The speeds that the machine reports, one per measurement."""
    measured: list[float] = []

    def measure(*_: str) -> float:
        measured.append(1e9)
        return measured[-1]

    monkeypatch.setattr(choosing, "training_speed", measure)
    return measured


def test_a_budget_in_time_is_autosized_once(
    tmp_path: Path, text: Path, speeds: list[float]
) -> None:
    run = pretrain(text, tmp_path / "run", budget="1s", vocab=400)
    recipe = run.recipe()
    assert recipe.name == "autosized"
    assert (recipe.model.width, recipe.model.layers, recipe.tokenizer.vocab) == (128, 2, 400)
    assert len(speeds) == 1
    again = pretrain(text, tmp_path / "run", budget="1s", vocab=400, resume=True)
    assert again.recipe() == recipe and len(speeds) == 1
    with pytest.raises(RecipeError, match="another recipe"):
        pretrain(text, tmp_path / "run", budget="2s", vocab=400, resume=True)


def test_set_overrides_the_autosized_recipe(
    tmp_path: Path, text: Path, speeds: list[float]
) -> None:
    changes = ["model.width=64", "model.heads=2", "model.feed_forward=64", "model.layers=1"]
    run = pretrain(
        text, tmp_path / "run", budget="1s", vocab=400, changes=changes, objective="causal"
    )
    assert (run.recipe().model.width, run.recipe().objective.kind) == (64, "causal")
    assert speeds


@pytest.mark.parametrize("choice", [{"recipe": "tiny", "budget": "1s"}, {"recipe": "tiny"}])
def test_a_named_recipe_is_not_autosized(
    tmp_path: Path, text: Path, speeds: list[float], choice: dict[str, str]
) -> None:
    run = pretrain(text, tmp_path / "run", changes=["train.budget='3steps'"], **choice)
    assert run.recipe().model.width == 48 and not speeds


def test_a_budget_in_steps_uses_the_recipe_small(
    tmp_path: Path, text: Path, speeds: list[float]
) -> None:
    changes = ["model.width=64", "model.heads=2", "model.feed_forward=64", "model.layers=1"]
    run = pretrain(text, tmp_path / "run", budget="2steps", vocab=400, changes=changes)
    assert run.recipe().name == "small" and not speeds

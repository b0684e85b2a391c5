"""Model soup: the average of several trainings from the same weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tests.unit.pipelines.tracking.tracking_helpers import expected_scalars, tensorboard_scalars

from greffe.config.option_groups import flat_keywords
from greffe.config.recipe_files import load_recipe
from greffe.errors import DivergedError, RecipeError
from greffe.model.model import Model
from greffe.pipelines import finetune as finetune_module
from greffe.pipelines.fit import Evaluated
from greffe.pipelines.members import member_name, member_seed
from greffe.pipelines.soup import fit_soup
from greffe.run import RunDirectory
from greffe.training.checkpoint import TrainingState, load_model
from greffe.training.distributed import World

finetune = flat_keywords(finetune_module.finetune)


TEXTS = [
    (f"un roman {word} et sa suite {word} encore", label)
    for word, label in [("superbe", "1"), ("pénible", "0"), ("drôle", "1"), ("fade", "0")] * 4
]
SMALL = load_recipe("tiny").with_changes(
    ["tokenizer.vocab=400", "model.width=16", "model.heads=2", "model.feed_forward=16"]
)


class Trainer:
    """Adds a known number to every weight; records the start and the folder of each training."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.began: list[dict[str, torch.Tensor]] = []
        self.folders: list[Path] = []

    def __call__(self, member: int, into: RunDirectory) -> TrainingState:
        self.began.append({k: v.clone() for k, v in self.model.state_dict().items()})
        self.folders.append(into.path)
        into.log(step=10, kind="valid", accuracy=0.5)
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter += 1.0 + member
        return TrainingState(step=10, tokens=100, seconds=2.0, skipped=1)


def evaluate(state: TrainingState) -> Evaluated:
    return Evaluated(score=0.75, metrics={"accuracy": 0.75}, line=f"seen at {state.step}")


def test_the_average_of_trainings_from_the_same_weights(fresh_run, capsys):
    run = fresh_run("run", ["0", "1"])
    model = load_model(run)
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    train = Trainer(model)
    state = fit_soup(run, model, train, evaluate, soup=3, world=World.join())
    for began in train.began:
        for name, tensor in began.items():
            torch.testing.assert_close(tensor, start[name], rtol=0, atol=0)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.detach(), start[name] + 2.0)
    assert train.folders == [run.path, run.path / "soup/1", run.path / "soup/2"]
    assert (state.step, state.tokens, state.seconds, state.skipped) == (30, 300, 6.0, 3)
    assert state.best_evaluation == state.last_evaluation == {"accuracy": 0.75}
    # The lines are those of the first training, then the evaluation of the average.
    kinds = [(line["kind"], line["step"]) for line in run.metrics()]
    assert kinds == [("valid", 10), ("average", 30)]
    assert "average of 3 · seen at 30" in capsys.readouterr().err


def test_an_average_without_finite_scores_is_an_error(fresh_run):
    run = fresh_run("run", ["0", "1"])
    train = Trainer(load_model(run))
    bad = Evaluated(score=float("nan"), metrics={}, line="the scores are not finite")
    with pytest.raises(DivergedError, match="average of 2 models"):
        fit_soup(run, train.model, train, lambda _: bad, soup=2, world=World.join())


def test_a_soup_of_one_is_a_plain_training(fresh_run):
    run = fresh_run("run", ["0", "1"])
    train = Trainer(load_model(run))
    state = fit_soup(run, train.model, train, evaluate, soup=1, world=World.join())
    assert state.step == 10
    assert [line["kind"] for line in run.metrics()] == ["valid"]


def test_names_and_seeds():
    assert member_name(0, 1) == "fine-tune"
    assert member_name(1, 3) == "fine-tune 2 of 3"
    seeds = [member_seed(seed, member) for seed in (0, 1) for member in range(4)]
    assert seeds[0] == 0
    assert len(set(seeds)) == len(seeds)


def test_a_soup_records_its_size_and_leaves_no_other_files(tmp_path):
    choices = {"recipe": SMALL, "valid": TEXTS[:4], "budget": "4steps"}
    one = finetune(TEXTS, tmp_path / "one", **choices)
    three = finetune(TEXTS, tmp_path / "three", soup=3, **choices)
    result = three.manifest().result
    assert result["soup"] == 3
    assert result["steps"] == 3 * one.manifest().result["steps"]
    assert "soup" not in one.manifest().result
    assert three.recipe().train.soup == 3
    assert three.manifest().lineage.initial_head == one.manifest().lineage.initial_head
    names = {path.name for path in three.path.iterdir()}
    assert names == {path.name for path in one.path.iterdir()}
    assert three.weights_path.read_bytes() != one.weights_path.read_bytes()
    # The first training is the same as without a soup.
    timeless = {"seconds", "tokens_per_second"}
    first, alone = (
        [json.dumps({k: v for k, v in line.items() if k not in timeless}) for line in run.metrics()]
        for run in (three, one)
    )
    assert first[:-1] == alone


def test_only_fine_tuning_has_a_soup():
    with pytest.raises(RecipeError, match=r"train\.soup"):
        load_recipe("small").with_changes(["train.soup=2"])
    assert load_recipe("small").with_changes(["finetune.soup=2"]).finetune.soup == 2


@pytest.mark.alone
def test_models_trained_side_by_side_have_the_same_average(tmp_path, capsys):
    choices = {"recipe": SMALL, "valid": TEXTS[:4], "budget": "4steps", "soup": 3}
    choices |= {"changes": ["train.threads=1"], "track": "tensorboard"}
    alone = finetune(TEXTS, tmp_path / "one", **choices)
    capsys.readouterr()
    together = finetune(TEXTS, tmp_path / "two", jobs=2, **choices)
    shown = capsys.readouterr().err
    assert together.weights_path.read_bytes() == alone.weights_path.read_bytes()
    timeless = {"seconds", "tokens_per_second"}
    lines, known = (
        [{k: v for k, v in line.items() if k not in timeless} for line in run.metrics()]
        for run in (together, alone)
    )
    assert lines == known
    for run in (together, alone):  # trackers show the log: the first model and the average
        assert tensorboard_scalars(run) == expected_scalars(run)
    assert "2 side by side, 1 thread each" in shown
    assert all(f"fine-tune {n} of 3: validation accuracy" in shown for n in (1, 2, 3))
    assert "resuming" not in shown and "average of 3" in shown
    assert shown.count("calibration: ") == 1  # of the average only

"""Restarts: a fine-tuning that collapses is trained again with a lower rate, exactly and told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from greffe.config.option_groups import flat_keywords
from greffe.config.recipe_files import load_recipe
from greffe.errors import InterruptedRunError, MismatchError
from greffe.pipelines import finetune as finetune_module
from greffe.pipelines import restarts
from greffe.pipelines.finetune import _Beginning
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.training.interruption import Interruption

finetune = flat_keywords(finetune_module.finetune)

WORDS = [("superbe", "1"), ("pénible", "0"), ("drôle", "1"), ("fade", "0")]
TEXTS = [(f"un roman {word} et sa suite {word} encore", label) for word, label in WORDS * 4]
CONTRADICTORY = [(text, label) for text, _ in TEXTS for label in "01"]
"""Nothing can be learned from these, and every model is right about half of them."""
SMALL = load_recipe("tiny").with_changes(
    [
        *("tokenizer.vocab=400", "model.width=16", "model.heads=2", "model.feed_forward=16"),
        *("finetune.batch=8", "finetune.budget=50steps", "finetune.threads=1"),
        *("finetune.checkpoint_every=15steps", "finetune.evaluate_every=25steps"),
        *("finetune.schedule=constant", "classification.dropout=0.5"),
    ]
)
TOO_HIGH, LEARNS = 10.0, 0.01
"""Learning rates: softmax saturates with the first, the task is learned with the second."""


@pytest.fixture(autouse=True)
def lower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "LOWER", TOO_HIGH / LEARNS)


def trained(out: Path, lr: float = TOO_HIGH, **options: Any) -> RunDirectory:
    choices: dict[str, Any] = {
        "valid": CONTRADICTORY[:8],
        "recipe": SMALL,
        "changes": [],
        **options,
    }
    choices["changes"] = [f"train.lr={lr}", *choices["changes"]]
    data = choices.pop("data", TEXTS)
    return finetune(data, out, **choices)


def timeless(run: RunDirectory) -> list[dict[str, Any]]:
    left_out = {"seconds", "tokens_per_second"}
    return [{k: v for k, v in line.items() if k not in left_out} for line in run.metrics()]


def result(run: RunDirectory) -> dict[str, Any]:
    return {k: v for k, v in run.manifest().result.items() if k != "seconds"}


def test_a_restart_is_a_training_with_the_lower_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained(tmp_path / "run")
    told = capsys.readouterr().err
    assert (
        "fine-tune: the loss did not fall below that of the class frequencies (0.693): "
        "starting again with lr 0.01\n"
    ) in told
    direct = trained(tmp_path / "direct", LEARNS)
    assert "starting again" not in capsys.readouterr().err
    assert run.manifest().weights == direct.manifest().weights
    assert timeless(run) == timeless(direct)
    found, known = result(run), result(direct)
    assert found.pop("tokens") == 2 * known.pop("tokens")
    assert found == {**known, "restarts": 1, "restarted_lr": LEARNS, "collapsed": 0}
    losses = [line["loss"] for line in run.metrics() if line["kind"] == "train"]
    assert losses[-1] < 0.1 < losses[0]
    assert {path.name for path in run.path.iterdir()} == {
        path.name for path in direct.path.iterdir()
    }
    card = (run.path / "README.md").read_text("utf-8")
    assert "learning rate after restarts" in card


def test_of_trainings_that_all_collapse_the_one_with_the_lowest_loss_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(restarts, "LOWER", 1 / 3)  # higher rates: no restart is better
    run = trained(tmp_path / "run", 1e-3, data=CONTRADICTORY)
    told = capsys.readouterr().err
    assert "starting again with lr 0.003\n" in told and "starting again with lr 0.009\n" in told
    kept = result(run)["restarted_lr"]
    lowest = f"3 trainings collapsed; keeping the one with the lowest loss, with lr {kept:.2g}\n"
    assert lowest in told and kept < 0.008
    monkeypatch.setattr(restarts, "MOST_RESTARTS", 0)
    direct = trained(tmp_path / "direct", kept, data=CONTRADICTORY)
    assert run.manifest().weights == direct.manifest().weights
    assert timeless(run) == timeless(direct)
    figures = {"restarts": 2, "restarted_lr": kept, "collapsed": 1}
    assert result(run) == {**result(direct), **figures, "tokens": result(run)["tokens"]}


def test_a_short_training_is_not_judged(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", 1e-3, data=CONTRADICTORY, budget="49steps")
    assert "restarts" not in run.manifest().result


class StopsInTheSecond(Interruption):
    """Requests to stop at the 20th step of the second training."""

    made = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).made += 1
        self.number, self.checks = type(self).made, 0

    @property
    def requested(self) -> bool:
        self.checks += 1
        return self.number == 2 and self.checks >= 20

    @requested.setter
    def requested(self, value: bool) -> None:
        pass


def test_the_restarts_of_a_soup_resume_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = {"soup": 2, "jobs": 1, "changes": ["classification.token_dropout=0.1"]}
    with quiet():
        whole = trained(tmp_path / "whole", **choices)
        with monkeypatch.context() as patch:
            patch.setattr("greffe.pipelines.fit.Interruption", StopsInTheSecond)
            patch.setattr(StopsInTheSecond, "made", 0)
            with pytest.raises(InterruptedRunError, match=r"step 20; .*restarts/1"):
                trained(tmp_path / "parts", **choices)
        with monkeypatch.context() as patch:  # killed when all is trained and nothing finished

            def kill(*_: object) -> None:
                raise KeyboardInterrupt

            patch.setattr(finetune_module, "finish", kill)
            with pytest.raises(KeyboardInterrupt):
                trained(tmp_path / "parts", **choices, resume=True)
        parts = trained(tmp_path / "parts", **choices, resume=True)
    assert parts.manifest().weights == whole.manifest().weights
    assert timeless(parts) == timeless(whole)
    assert result(parts) == result(whole)
    assert result(whole)["restarts"] == 2
    assert not (parts.path / "restarts").exists()


def test_the_adapters_of_a_restart_are_new(
    tmp_path: Path, fresh_run: Callable[..., RunDirectory]
) -> None:
    parent = fresh_run("parent")
    choices = {
        "parent": parent,
        "recipe": None,
        "budget": "50steps",
        "changes": [
            *("train.lora.rank=2", "train.lora.alpha=1", "train.threads=1", "train.batch=8"),
            "train.schedule=constant",
        ],
    }
    with quiet():
        run = trained(tmp_path / "run", **choices)
        direct = trained(tmp_path / "direct", LEARNS, **choices)
    assert result(run)["restarts"] == 1
    assert run.manifest().weights == direct.manifest().weights


def test_a_parent_that_has_changed_is_no_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Beginning, "weights", changed(_Beginning.weights))
    with quiet(), pytest.raises(MismatchError, match="cannot be restarted"):
        trained(tmp_path / "run")


def changed(weights: Callable[..., Any]) -> Callable[..., Any]:
    def read(beginning: _Beginning, recorded: Any) -> Any:
        return weights(beginning, recorded.model_copy(update={"initial_base": "00" * 32}))

    return read


RANK = """
import sys
from tests.unit.pipelines import test_restarts as module

module.trained(sys.argv[1], 1e-3, **module.UNDRAWN)
"""
UNDRAWN: dict[str, Any] = {"data": CONTRADICTORY, "changes": ["classification.dropout=0"]}
"""No dropout: what is dropped is drawn by each rank for its own rows."""


@pytest.mark.slow
@pytest.mark.alone
def test_all_ranks_restart(tmp_path: Path, two_ranks: Callable[..., list[tuple[str, str]]]) -> None:
    (_, told), _ = two_ranks(RANK, str(tmp_path / "run"))
    assert told.count("starting again") == 2
    with quiet():
        alone = trained(tmp_path / "alone", 1e-3, **UNDRAWN)
    run = RunDirectory(tmp_path / "run")
    kept = ("restarts", "collapsed", "steps")
    assert [result(run)[name] for name in kept] == [result(alone)[name] for name in kept]
    assert run.manifest().result["restarts"] == 2

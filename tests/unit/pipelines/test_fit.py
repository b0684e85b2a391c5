"""Training over a run directory: what is logged, saved, kept, and how it resumes."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from greffe.config.components import HeadSpec
from greffe.config.recipe import Recipe
from greffe.config.sections import ModelSpec, TrainSpec
from greffe.data.batches import Batch
from greffe.errors import DivergedError, InterruptedRunError, RunError
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model, build_model
from greffe.model.weights import check_finite, load_tensors
from greffe.objectives.causal import Causal, CausalObjective
from greffe.objectives.objective import Objective
from greffe.pipelines import fit as fit_module
from greffe.pipelines.fit import Evaluated, Task, finish, fit
from greffe.run import Manifest, RunDirectory, new_lineage
from greffe.seeding import rng
from greffe.training import checkpoint
from greffe.training.distributed import World
from greffe.training.update import Figures, Outcome

SHAPE = ModelSpec(width=16, layers=1, heads=2, feed_forward=32, context=16, dropout=0.2)
HEADS: dict[str, HeadSpec] = {"next_token": NextTokenHead()}
VOCAB = 300


def batches(step: int) -> Sequence[Batch]:
    ids = torch.from_numpy(rng(0, "toy", step).integers(5, 40, size=(4, 12)))
    indices = torch.arange(4)[:, None] * 12 + torch.arange(11)
    return [
        Batch(
            ids=ids,
            counts={"next_token": 44},
            targets=ids[:, 1:].reshape(-1),
            indices=indices.reshape(-1),
            tokens=48,
        )
    ]


class Toy(CausalObjective):
    """The causal loss, without a tokenizer; in the first `breaking` steps it is not finite."""

    def __init__(self, breaking: int = 0) -> None:
        self.breaking = breaking

    def loss(self, model: Model, batch: Batch) -> dict[str, torch.Tensor]:
        found = super().loss(model, batch)
        if self.breaking:
            self.breaking -= 1
            found = {name: value * float("nan") for name, value in found.items()}
        return found


class Fitter:
    """A run and its settings; `fit()` may be called again to resume."""

    def __init__(self, path: Path, **choices: Any) -> None:
        plain = {"budget": "12steps", "batch": 4, "evaluate_every": "3steps", "lr": 0.01}
        self.spec = TrainSpec(**{**plain, "checkpoint_every": "4steps", **choices})
        self.scores: Iterator[float] = itertools.count(1.0)
        self.evaluations = 0
        self.run = RunDirectory(path)
        path.mkdir()
        self.run.write_recipe(Recipe(model=SHAPE, objective=Causal(), train=self.spec))
        self.run.write_manifest(
            Manifest(
                kind="language-model",
                status="training",
                vocab=VOCAB,
                heads=HEADS,
                directions=["causal"],
                lineage=new_lineage(threads=1, initial_base="", tokenizer="", data={}),
            )
        )

    def evaluate(self, _: checkpoint.TrainingState) -> Evaluated:
        """Validation with made-up scores, better each time unless told otherwise."""
        self.evaluations += 1
        score = float(next(self.scores))
        return Evaluated(score=score, metrics={"loss": -score}, line=f"score {score}")

    def fit(
        self,
        objective: Objective | None = None,
        evaluate: Callable[[checkpoint.TrainingState], Evaluated] | None = None,
    ) -> checkpoint.TrainingState:
        """Train; the model is left in `self.model`."""
        self.model = build_model(SHAPE, VOCAB, HEADS, seed=0)
        return fit(
            self.run,
            self.model,
            Task(
                objective=objective or Toy(),
                batches=batches,
                evaluate=evaluate or self.evaluate,
                steps_per_epoch=6,
                seed=0,
                name="toy",
            ),
            self.spec,
            World(),
        )

    def weights(self) -> dict[str, torch.Tensor]:
        """A copy of the model's tensors."""
        return {name: value.clone() for name, value in self.model.state_dict().items()}

    def lines(self, kind: str) -> list[int]:
        """Steps of the logged lines of a kind."""
        return [line["step"] for line in self.run.metrics() if line["kind"] == kind]


def equal(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(value, second[name]) for name, value in first.items())


def test_what_is_evaluated_and_logged(tmp_path: Path) -> None:
    fitter = Fitter(tmp_path / "run")
    state = fitter.fit()
    assert (state.step, state.tokens, state.best_step) == (12, 12 * 48, 12)
    assert fitter.lines("valid") == [3, 6, 9, 12]
    assert fitter.lines("train") == list(range(1, 13))
    assert state.last_evaluation == state.best_evaluation == {"loss": -4.0}
    epochs = [line["epoch"] for line in fitter.run.metrics() if line["kind"] == "valid"]
    assert epochs == [0.5, 1.0, 1.5, 2.0]


def test_the_last_step_is_evaluated_once(tmp_path: Path) -> None:
    fitter = Fitter(tmp_path / "run", evaluate_every="5steps")
    fitter.fit()
    assert fitter.lines("valid") == [5, 10, 12]


def test_finish_writes_the_weights_and_removes_the_checkpoints(tmp_path: Path) -> None:
    fitter = Fitter(tmp_path / "run")
    state = fitter.fit()
    finish(fitter.run, fitter.model, state, fitter.spec)
    manifest = fitter.run.manifest()
    assert manifest.status == "finished"
    assert manifest.result["steps"] == 12 and manifest.result["loss"] == -4.0
    assert not fitter.run.checkpoints_path.exists()
    assert equal(load_tensors(fitter.run.weights_path, manifest.weights), fitter.weights())


@pytest.mark.parametrize("keep", ["best", "last"])
def test_the_best_or_the_last_weights_are_kept(tmp_path: Path, keep: str) -> None:
    fitter = Fitter(tmp_path / "run", keep=keep)
    fitter.scores = iter([1.0, 5.0, 2.0, 3.0])
    seen: list[dict[str, torch.Tensor]] = []

    def evaluate(state: checkpoint.TrainingState) -> Evaluated:
        seen.append(fitter.weights())
        return fitter.evaluate(state)

    state = fitter.fit(evaluate=evaluate)
    assert state.best_step == 6
    expected, other = (seen[1], seen[3]) if keep == "best" else (seen[3], seen[1])
    assert equal(fitter.weights(), expected) and not equal(fitter.weights(), other)
    finish(fitter.run, fitter.model, state, fitter.spec)
    assert fitter.run.manifest().result["loss"] == (-5.0 if keep == "best" else -3.0)


def test_patience_stops_a_run_early(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fitter = Fitter(tmp_path / "run", patience=2, evaluate_every="1steps")
    fitter.scores = iter([3.0, 1.0, 4.0, 4.0, 2.0, 9.0])
    state = fitter.fit()
    assert (state.step, state.best_step) == (5, 3)
    assert "stopped early" in capsys.readouterr().err
    # Resumed, it stays stopped and still ends with its best.
    again = fitter.fit()
    assert (again.step, fitter.evaluations) == (5, 5)


@pytest.mark.parametrize("crash_at", [4, 8, 12])
def test_a_killed_and_resumed_run_is_identical(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash_at: int
) -> None:
    whole, broken = Fitter(tmp_path / "whole"), Fitter(tmp_path / "broken")
    expected = whole.fit()

    class Killed(Exception):
        pass

    def save(folder: Path, model: Model, optimizer: Any, state: checkpoint.TrainingState) -> None:
        checkpoint.save_checkpoint(folder, model, optimizer, state)
        if state.step == crash_at:
            broken.run.log(step=crash_at + 1, kind="train")
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(fit_module, "save_checkpoint", save)
        with pytest.raises(Killed):
            broken.fit()
    state = broken.fit()
    assert equal(whole.weights(), broken.weights())
    ignored = {"seconds": 0.0, "files": {}}
    assert state.model_copy(update=ignored) == expected.model_copy(update=ignored)
    times = {"seconds", "tokens_per_second"}
    first, second = (
        [{k: v for k, v in line.items() if k not in times} for line in fitter.run.metrics()]
        for fitter in (whole, broken)
    )
    assert first == second


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_the_state_and_the_message_names_resume(
    tmp_path: Path, number: signal.Signals
) -> None:
    whole, stopped = Fitter(tmp_path / "whole"), Fitter(tmp_path / "stopped")
    whole.fit()

    def evaluate(state: checkpoint.TrainingState) -> Evaluated:
        if stopped.evaluations == 1:
            os.kill(os.getpid(), number)
        return stopped.evaluate(state)

    with pytest.raises(InterruptedRunError, match="Stopped at step 7") as caught:
        stopped.fit(evaluate=evaluate)
    assert "--resume" in str(caught.value) and caught.value.exit_code == 130
    last = checkpoint.last_checkpoint(stopped.run.checkpoints_path)
    assert last is not None and last.name == "step-00000007"
    stopped.fit()
    assert equal(whole.weights(), stopped.weights())


def test_steps_without_a_finite_loss_are_skipped_up_to_a_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fitter = Fitter(tmp_path / "few", nonfinite_limit=3)
    assert fitter.fit(Toy(breaking=2)).skipped == 2
    assert "step 2: the loss is not finite; step skipped" in capsys.readouterr().err
    assert [line["skipped"] for line in fitter.run.metrics() if line["kind"] == "train"][:3] == [
        True,
        True,
        False,
    ]
    ended = Fitter(tmp_path / "many", nonfinite_limit=3)
    with pytest.raises(DivergedError, match="3 steps in a row") as caught:
        ended.fit(Toy(breaking=99))
    assert checkpoint.last_checkpoint(ended.run.checkpoints_path) is None
    assert "no checkpoint" in str(caught.value) and "train.lr=0.003" in str(caught.value)


class Overflowing(Toy):
    """One weight, of a token that no batch has, becomes infinite after so many steps."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.left = steps

    def loss(self, model: Model, batch: Batch) -> dict[str, torch.Tensor]:
        self.left -= 1
        if self.left < 0:
            with torch.no_grad():
                model.base.embedding.weight[VOCAB - 1, 0] = float("inf")
        return super().loss(model, batch)


@pytest.mark.parametrize(("steps", "seen_at", "kept"), [(1, 3, None), (5, 6, 4), (11, 12, 8)])
def test_weights_that_are_not_finite_end_the_run_and_are_never_saved(
    tmp_path: Path, steps: int, seen_at: int, kept: int | None
) -> None:
    fitter = Fitter(tmp_path / "run")
    with pytest.raises(DivergedError, match=f"not finite at step {seen_at}") as caught:
        fitter.fit(Overflowing(steps))
    last = checkpoint.last_checkpoint(fitter.run.checkpoints_path)
    assert (last and checkpoint.checkpoint_step(last)) == kept
    assert ("no checkpoint" if kept is None else f"of step {kept}") in str(caught.value)
    for path in fitter.run.path.rglob("*.safetensors"):
        check_finite(load_tensors(path), path)


def test_a_diverged_run_resumes_from_its_last_checkpoint(tmp_path: Path) -> None:
    whole, diverged = Fitter(tmp_path / "whole"), Fitter(tmp_path / "diverged")
    whole.fit()
    with pytest.raises(DivergedError):
        diverged.fit(Overflowing(9))
    assert diverged.fit().step == 12
    assert equal(whole.weights(), diverged.weights())


@pytest.mark.parametrize("keep", ["best", "last"])
@pytest.mark.parametrize("score", [float("nan"), float("-inf")])
def test_scores_that_are_not_finite_end_the_run(tmp_path: Path, score: float, keep: str) -> None:
    fitter = Fitter(tmp_path / "run", keep=keep)
    fitter.scores = iter([1.0, 2.0, score, 9.0])
    with pytest.raises(DivergedError, match="not finite at step 9") as caught:
        fitter.fit()
    assert "step 8" in str(caught.value) and "train.lr=" in str(caught.value)
    assert fitter.lines("valid") == [3, 6, 9]


def test_without_validation_the_last_batch_must_have_a_finite_loss(tmp_path: Path) -> None:
    class BreaksAtTheEnd(Toy):
        def loss(self, model: Model, batch: Batch) -> dict[str, torch.Tensor]:
            factor = 1.0 if model.training else float("nan")
            return {name: factor * value for name, value in super().loss(model, batch).items()}

    fitter = Fitter(tmp_path / "run")
    task = Task(BreaksAtTheEnd(), batches, None, steps_per_epoch=6, seed=0, name="toy")
    model = build_model(SHAPE, VOCAB, HEADS, seed=0)
    with pytest.raises(DivergedError, match="after the last step, 12"):
        fit(fitter.run, model, task, fitter.spec, World())


def test_an_interruption_after_a_skipped_step_names_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitter = Fitter(tmp_path / "run", evaluate_every="6steps")
    objective = Toy()

    def save(folder: Path, model: Model, optimizer: Any, state: checkpoint.TrainingState) -> None:
        checkpoint.save_checkpoint(folder, model, optimizer, state)
        objective.breaking = 1
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(fit_module, "save_checkpoint", save)
    with pytest.raises(InterruptedRunError, match="Stopped at step 5; the state of step 4"):
        fitter.fit(objective)


def test_a_run_resumes_after_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, full = Fitter(tmp_path / "whole"), Fitter(tmp_path / "full")
    whole.fit()

    def save(folder: Path, model: Model, optimizer: Any, state: checkpoint.TrainingState) -> None:
        if state.step == 8:
            raise RunError("The disk is full")
        checkpoint.save_checkpoint(folder, model, optimizer, state)

    with monkeypatch.context() as patch:
        patch.setattr(fit_module, "save_checkpoint", save)
        with pytest.raises(RunError, match="full"):
            full.fit()
    full.fit()
    assert equal(whole.weights(), full.weights())


def test_a_run_without_validation_keeps_the_last_weights(tmp_path: Path) -> None:
    fitter = Fitter(tmp_path / "run")
    model = build_model(SHAPE, VOCAB, HEADS, seed=0)
    state = fit(
        fitter.run,
        model,
        Task(Toy(), batches, evaluate=None, steps_per_epoch=6, seed=0, name="toy"),
        fitter.spec,
        World(),
    )
    assert (state.step, state.best_step) == (12, None)
    finish(fitter.run, model, state, fitter.spec)
    assert fitter.run.manifest().result["best_step"] is None


def test_patience_without_validation_has_no_effect_and_a_notice_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fitter = Fitter(tmp_path / "run", patience=1)
    model = build_model(SHAPE, VOCAB, HEADS, seed=0)
    task = Task(Toy(), batches, evaluate=None, steps_per_epoch=6, seed=0, name="toy")
    state = fit(fitter.run, model, task, fitter.spec, World())
    assert state.step == 12
    assert "patience has no effect" in capsys.readouterr().err


def fail_to_compile(model: Model) -> bool:
    """Compile as torch does, with a result that fails when it is used."""

    def compiled(*_: object, **__: object) -> None:
        raise RuntimeError("no such register")

    model.base._compiled_call_impl = compiled
    return True


def test_a_training_continues_without_a_compiler_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("greffe.training.compute.compile_model", fail_to_compile)
    plain, compiled = (
        Fitter(tmp_path / name, compile=choice)
        for name, choice in (("plain", False), ("compiled", True))
    )
    plain.fit()
    compiled.fit()
    assert equal(plain.weights(), compiled.weights())
    assert "no such register" in capsys.readouterr().err


def test_only_the_recipe_asks_for_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitter = Fitter(tmp_path / "run")
    fitter.fit()
    (state,) = fitter.run.checkpoints_path.glob("step-*/state.json")
    state.write_text(state.read_text().replace('"compiled": false', '"compiled": true'))
    calls: list[Model] = []
    monkeypatch.setattr("greffe.training.compute.compile_model", calls.append)
    fitter.fit()
    assert not calls
    assert '"compiled": true' in state.read_text()


@pytest.mark.parametrize(
    ("choice", "device", "compiled"),
    [("gpu", "cuda", 1), ("gpu", "cpu", 0), (False, "cuda", 0), (True, "cpu", 1)],
)
def test_a_gpu_compiles_by_default(
    choice: object, device: str, compiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Model] = []
    monkeypatch.setattr(fit_module, "device_of", lambda _: torch.device(device))
    monkeypatch.setattr(fit_module, "compile_and_try", lambda model, _: calls.append(model))
    model, state = build_model(SHAPE, VOCAB, HEADS, seed=0), checkpoint.TrainingState()
    task = Task(Toy(), batches, None, steps_per_epoch=6, seed=0, name="toy")
    assert fit_module._compile(model, task, TrainSpec(compile=choice), state) == state
    assert len(calls) == compiled
    assert TrainSpec().compile == "gpu"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Keeps the figures of steps in tensors, as on a GPU; grows by one when some are read."""
    counted: list[int] = []
    initialize, read = Outcome.__init__, Outcome.read

    def keep(self: Outcome, names: Sequence[str], values: Sequence[float]) -> None:
        initialize(self, names, torch.tensor(values, dtype=torch.float64))

    def count(self: Outcome) -> Figures:
        if not self.is_read:
            counted.append(1)
        return read(self)

    monkeypatch.setattr(Outcome, "__init__", keep)
    monkeypatch.setattr(Outcome, "read", count)
    return counted


def test_on_a_gpu_only_the_steps_that_are_due_are_read(tmp_path: Path, reads: list[int]) -> None:
    spans = {"budget": "400steps", "evaluate_every": "100steps", "checkpoint_every": "100steps"}
    fitter = Fitter(tmp_path / "run", **spans)
    assert fitter.fit().step == 400
    assert fitter.lines("train") == list(range(4, 401, 4))
    assert len(reads) == 100


def test_on_a_gpu_skipped_steps_are_told_with_the_next_that_is_read(
    tmp_path: Path, reads: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    fitter = Fitter(tmp_path / "run", budget="400steps", evaluate_every="100%")
    assert fitter.fit(Toy(breaking=3)).skipped == 3
    assert "step 4: 3 steps were skipped" in capsys.readouterr().err
    with pytest.raises(DivergedError, match="12 steps in a row"):
        Fitter(tmp_path / "ended", budget="400steps").fit(Toy(breaking=99))

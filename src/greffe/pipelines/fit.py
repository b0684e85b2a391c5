"""Fit: run the training loop in a run directory; between two steps evaluate, log and save.

Shared by pretraining and fine-tuning, which define batches and evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from greffe.config.sections import TrainSpec
from greffe.data.batches import Batch
from greffe.errors import DivergedError, InterruptedRunError
from greffe.inference.forward import device_of
from greffe.model.adapters import merge_adapters
from greffe.model.model import Model
from greffe.model.weights import is_finite, load_exact, load_weights, save_tensors
from greffe.objectives.objective import Objective
from greffe.pipelines.lora import adapt
from greffe.pipelines.run_folder import complete_run
from greffe.pipelines.step_log import log_step, position, progress_detail
from greffe.progress import Progress, notice
from greffe.run import Calibration, RunDirectory
from greffe.training.checkpoint import (
    TrainingState,
    best_path,
    check_tokenizer,
    checkpoint_step,
    last_checkpoint,
    load_checkpoint,
    save_best,
    save_checkpoint,
)
from greffe.training.collapse import LoggedLoss
from greffe.training.compute import compile_and_try, compile_if_faster
from greffe.training.distributed import World
from greffe.training.interruption import Interruption
from greffe.training.loop import Step, lower_rate, train
from greffe.training.optim import build_optimizer
from greffe.training.prefetch import prefetch_batches
from greffe.training.schedule import Budget, Cadence, Clock

FEW_STEPS = 10


@dataclass(frozen=True)
class Evaluated:
    """One evaluation on the validation part: a score (higher is better) and what to log."""

    score: float
    metrics: dict[str, Any]
    line: str


@dataclass(frozen=True)
class Task:
    """What is trained on: an objective, its batches, and how the model is evaluated."""

    objective: Objective
    batches: Callable[[int], Sequence[Batch]]
    """This rank's parts of a step's batch, by step."""
    evaluate: Callable[[TrainingState], Evaluated] | None
    steps_per_epoch: float
    seed: int
    name: str
    """What progress lines and notices begin with."""


def fit(
    run: RunDirectory, model: Model, task: Task, spec: TrainSpec, world: World
) -> TrainingState:
    """Train until the budget is used up or patience runs out; leave the model as kept.

    With LoRA, the model has adapters in training, and they are in its checkpoints; they are merged
    into the weights at the end.
    A training that diverges is an error: weights are kept only if they are finite, and if their
    score in validation is (without validation, their loss on the last batch).
    """
    if spec.patience and task.evaluate is None:
        notice(f"{task.name}: nothing is held out for validation: patience has no effect")
    plan = _Plan.of(task, spec, world)
    if spec.adapted_blocks(model.spec.layers):
        adapt(model, spec, task.seed, task.name)
    optimizer = build_optimizer(model, spec, model.spec.layers)
    state = _load_state(run, model, optimizer)
    if world.is_main:
        run.rewind_metrics(state.step)
    state = _compile(model, task, spec, state)
    try:
        state = _train(run, model, optimizer, state, plan)
        if task.evaluate is None:
            _check_last_batch(model, task, state, world)
    except DivergedError as error:
        error.hint = _after_divergence(run, spec)
        raise
    if state.skipped:
        notice(f"{task.name}: {state.skipped} of {state.step} steps were skipped")
    clock = Clock(state.step, state.tokens, state.seconds)
    if _is_out_of_patience(spec, state):
        if not plan.budget.is_over(clock):
            notice(f"{task.name}: stopped early, no better score in {spec.patience} evaluations")
    elif state.step < FEW_STEPS:
        notice(f"{task.name}: only {state.step} steps were made; a longer --budget learns more")
    if spec.keep == "best" and state.best_step is not None and state.best_step != state.step:
        world.barrier()
        _restore_best(run, model, state, task.name)
    merge_adapters(model)
    return state


@dataclass(frozen=True)
class _Plan:
    """A training's task, its budget, and how often to log, evaluate and save."""

    task: Task
    spec: TrainSpec
    world: World
    budget: Budget
    logging: Cadence
    evaluation: Cadence
    checkpoint: Cadence

    @classmethod
    def of(cls, task: Task, spec: TrainSpec, world: World) -> _Plan:
        budget = Budget.parse(spec.budget, task.steps_per_epoch, spec.least_steps)
        cadences = ("1%", spec.evaluate_every, spec.checkpoint_every)
        return cls(task, spec, world, budget, *(Cadence.parse(text, budget) for text in cadences))


def _train(
    run: RunDirectory,
    model: Model,
    optimizer: torch.optim.Optimizer,
    state: TrainingState,
    plan: _Plan,
) -> TrainingState:
    """Run the loop; between two steps log, evaluate and save."""
    task, spec, budget, world = plan.task, plan.spec, plan.budget, plan.world
    is_over = _is_out_of_patience(spec, state)
    start = Clock(step=state.step, tokens=state.tokens, seconds=state.seconds)
    device = device_of(model)
    with (
        Interruption() as interruption,
        prefetch_batches(task.batches, device) as prepared,
        Progress(task.name, budget.total, start=budget.spent(start)) as progress,
    ):
        steps = train(
            model,
            task.objective,
            optimizer,
            prepared,
            spec=spec,
            budget=budget,
            seed=task.seed,
            start=start,
            skipped=state.skipped,
            skipped_in_a_row=state.skipped_in_a_row,
            world=world,
            is_interrupted=lambda: interruption.requested,
        )
        while not is_over and (step := next(steps, None)) is not None:
            is_last = budget.is_over(step.clock)
            logs = is_last or plan.logging.is_due(step.before, step.clock)
            evaluates = is_last or plan.evaluation.is_due(step.before, step.clock)
            saves = is_last or plan.checkpoint.is_due(step.before, step.clock)
            if logs or evaluates or saves or step.is_interrupted:
                step.outcome.read()  # waits for a GPU, on all ranks; other steps are not waited for
            if step.outcome.is_read:
                log_step(run, state, step, is_due=logs, is_main=world.is_main)
            state = _advance(state, step)
            if logs and not step.is_skipped:
                logged = LoggedLoss(step=state.step, loss=step.loss)
                state = state.model_copy(update={"losses": [*state.losses, logged]})
            if task.evaluate is not None and evaluates:
                state = _evaluate(run, model, state, step, plan)
                is_over = _is_out_of_patience(spec, state)
            detail = progress_detail(step, start) if step.outcome.is_read else None
            progress.set(budget.spent(step.clock), detail)

            is_end = is_last or is_over
            if is_end or saves or step.is_interrupted:
                _check_weights(model, state, world)
                # After a skipped step the weights may be bad already: the checkpoint before stays.
                if world.is_main and not step.is_skipped:
                    save_checkpoint(run.checkpoints_path, model, optimizer, state)
            if step.is_interrupted and not is_end:
                raise InterruptedRunError(
                    f"Stopped at step {state.step}; {_kept_on_disk(run)}.",
                    hint="continue with the same command and --resume",
                )
    return state


def finish(
    run: RunDirectory,
    model: Model,
    state: TrainingState,
    spec: TrainSpec,
    calibration: Calibration | None = None,
) -> None:
    """Write the final weights, mark the run as finished, and complete it."""
    digest = save_tensors(run.weights_path, model.state_dict())
    restarted = state.restarted
    run.write_manifest(
        run.manifest().model_copy(
            update={
                "status": "finished",
                "weights": digest,
                "result": {
                    "steps": state.step,
                    "tokens": state.tokens,
                    "seconds": round(state.seconds, 1),
                    "skipped_steps": state.skipped,
                    "best_step": state.best_step,
                    **({"soup": spec.soup} if spec.soup > 1 else {}),
                    **(restarted.figures if restarted else {}),
                    **kept_evaluation(state, spec),
                },
                "calibration": calibration,
            }
        )
    )
    complete_run(run)


def kept_evaluation(state: TrainingState, spec: TrainSpec) -> dict[str, Any]:
    """Return the figures in validation of the weights that a training ends with."""
    return state.best_evaluation if spec.keep == "best" else state.last_evaluation


def _load_state(run: RunDirectory, model: Model, optimizer: torch.optim.Optimizer) -> TrainingState:
    """Load the last checkpoint into the model and the optimizer; without one, a new state."""
    fingerprint = run.manifest().lineage.tokenizer
    checkpoint = last_checkpoint(run.checkpoints_path)
    if checkpoint is None:
        return TrainingState(tokenizer=fingerprint)
    state = load_checkpoint(checkpoint, model, optimizer)
    check_tokenizer(fingerprint, state.tokenizer, str(checkpoint))
    notice(f"resuming from step {state.step}")
    threads, now = run.manifest().lineage.threads, torch.get_num_threads()
    if threads != now:
        notice(
            f"the run was started with {threads} compute threads, now there are {now}: "
            "the result may differ in the last digits"
        )
    return state


def _compile(model: Model, task: Task, spec: TrainSpec, state: TrainingState) -> TrainingState:
    """Compile the model if the recipe says so, or if that is faster; a resumed run as before."""
    if spec.compile == "auto" and state.step == 0:
        is_faster = compile_if_faster(model, lambda: _compute(model, task))
        return state.model_copy(update={"compiled": is_faster})
    on_gpu = spec.compile == "gpu" and device_of(model).type == "cuda"
    if spec.compile is True or on_gpu or (spec.compile == "auto" and state.compiled):
        compile_and_try(model, lambda: _compute(model, task))
    return state


def _compute(model: Model, task: Task) -> None:
    """Compute a step's gradients without taking the step."""
    model.train()
    device = device_of(model)
    for part in task.batches(0):
        sums = task.objective.loss(model, part.to(device)).values()
        sum(sums, torch.zeros((), device=device)).backward()  # type: ignore[no-untyped-call]
    model.zero_grad(set_to_none=True)


def _restore_best(run: RunDirectory, model: Model, state: TrainingState, name: str) -> None:
    assert state.best_step is not None
    path = best_path(run.checkpoints_path, state.best_step)
    load_exact(model, load_weights(path, state.best_hash, model), str(path))
    figures = ", ".join(f"{key} {value:.4g}" for key, value in state.best_evaluation.items())
    notice(f"{name}: keeping the best weights, from step {state.best_step}: {figures}")


def _is_out_of_patience(spec: TrainSpec, state: TrainingState) -> bool:
    return spec.patience > 0 and state.evaluations_without_better >= spec.patience


def _evaluate(
    run: RunDirectory, model: Model, state: TrainingState, step: Step, plan: _Plan
) -> TrainingState:
    """Evaluate and log; keep the weights if they are the best so far."""
    assert plan.task.evaluate is not None
    _check_weights(model, state, plan.world)
    evaluated = plan.task.evaluate(state)
    evaluated = replace(evaluated, score=plan.world.broadcast(evaluated.score))
    if plan.world.is_main:
        run.log(
            step=state.step,
            kind="valid",
            epoch=round(step.clock.step / plan.task.steps_per_epoch, 4),
            seconds=round(state.seconds, 3),
            **evaluated.metrics,
        )
    check_evaluated(evaluated, f"step {state.step}")
    state = _keep_best(run, model, state, evaluated, is_main=plan.world.is_main)
    notice(f"{plan.task.name}: {position(step, plan.budget)} · {evaluated.line}")
    return state


def _advance(state: TrainingState, step: Step) -> TrainingState:
    """Return the state after a step; the counts of skipped steps are those of the last one read."""
    clock = {
        "step": step.clock.step,
        "tokens": step.clock.tokens,
        "seconds": step.clock.seconds,
    }
    if not step.outcome.is_read:
        return state.model_copy(update=clock)
    figures = step.outcome.read()
    counts = {"skipped": figures.skipped, "skipped_in_a_row": figures.skipped_in_a_row}
    return state.model_copy(update={**clock, **counts})


def _keep_best(
    run: RunDirectory, model: Model, state: TrainingState, evaluated: Evaluated, *, is_main: bool
) -> TrainingState:
    """Keep the weights if the score is the best so far; count evaluations without a better one."""
    if state.best_score is not None and evaluated.score <= state.best_score:
        return state.model_copy(
            update={
                "evaluations_without_better": state.evaluations_without_better + 1,
                "last_evaluation": evaluated.metrics,
            }
        )
    digest = save_best(run.checkpoints_path, model, state.step) if is_main else None
    return state.model_copy(
        update={
            "best_step": state.step,
            "best_score": evaluated.score,
            "best_hash": digest,
            "best_evaluation": evaluated.metrics,
            "last_evaluation": evaluated.metrics,
            "evaluations_without_better": 0,
        }
    )


# --- divergence ---------------------------------------------------------------------------------


def check_evaluated(evaluated: Evaluated, when: str) -> None:
    """Raise an error if the score is not finite: the weights are too large to compute with."""
    if not math.isfinite(evaluated.score):
        raise DivergedError(
            f"The scores in validation are not finite at {when}; training stopped.",
            expected="finite scores",
            found=evaluated.line,
            hint="use a lower learning rate",
        )


def _check_weights(model: Model, state: TrainingState, world: World) -> None:
    """Raise an error, on all ranks or none, if a weight is not finite."""
    if world.sum([float(not is_finite(model))])[0]:
        skipped = state.skipped_in_a_row
        raise DivergedError(
            f"Weights are not finite at step {state.step}; training stopped.",
            expected="finite weights",
            found=f"NaN or infinite values; the last {skipped} steps were skipped"
            if skipped
            else "NaN or infinite values",
        )


@torch.no_grad()
def _check_last_batch(model: Model, task: Task, state: TrainingState, world: World) -> None:
    """Raise an error, on all ranks or none, if the loss of the last batch is not finite."""
    model.eval()
    device = device_of(model)
    parts = [part.to(device) for part in task.batches(state.step - 1)]
    losses = [value for part in parts for value in task.objective.loss(model, part).values()]
    [loss] = world.sum([float(sum(losses, torch.zeros((), device=device)))])
    if not math.isfinite(loss):
        raise DivergedError(
            f"The loss is not finite after the last step, {state.step}; training stopped.",
            expected="a finite loss",
            found=f"loss {loss}",
        )


def _after_divergence(run: RunDirectory, spec: TrainSpec) -> str:
    return f"{_kept_on_disk(run)}; train again, with --overwrite, with {lower_rate(spec)}"


def _kept_on_disk(run: RunDirectory) -> str:
    last = last_checkpoint(run.checkpoints_path)
    if last is None:
        return "no checkpoint was saved"
    return f"the state of step {checkpoint_step(last)} is saved in {run.path}"

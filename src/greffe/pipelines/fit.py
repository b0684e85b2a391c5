"""Fit: run the loop over a run directory; between two steps evaluate, log and save, in plain code.

Shared by pretraining and fine-tuning. What a batch is and what validation means comes from them.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from greffe.config.sections import TrainSpec
from greffe.data.batches import Batch
from greffe.errors import InterruptedRunError
from greffe.model.model import Model
from greffe.model.weights import is_finite, load_exact, load_tensors, save_tensors
from greffe.objectives.objective import Objective
from greffe.progress import Progress, format_count, notice
from greffe.run import RunDirectory
from greffe.training.checkpoint import (
    TrainingState,
    best_path,
    check_tokenizer,
    last_checkpoint,
    load_checkpoint,
    save_best,
    save_checkpoint,
)
from greffe.training.compilation import compile_if_faster, compile_model
from greffe.training.distributed import World
from greffe.training.interruption import Interruption
from greffe.training.loop import Step, train
from greffe.training.optim import build_optimizer
from greffe.training.prefetch import prefetch
from greffe.training.schedule import Budget, Cadence, Clock

FEW_STEPS = 10


@dataclass(frozen=True)
class Evaluated:
    """One look at the validation part: a score to compare (higher is better) and what to log."""

    score: float
    metrics: dict[str, Any]
    line: str


def fit(
    run: RunDirectory,
    model: Model,
    objective: Objective,
    batches: Callable[[int], Sequence[Batch]],
    evaluate: Callable[[TrainingState], Evaluated] | None,
    *,
    spec: TrainSpec,
    steps_per_epoch: float,
    seed: int,
    world: World,
    what: str,
) -> TrainingState:
    """Train until the budget is used up or nothing gets better; leaves the model as kept."""
    budget = Budget.parse(spec.budget, steps_per_epoch, spec.least_steps)
    evaluation_cadence = Cadence.parse(spec.evaluate_every, budget)
    checkpoint_cadence = Cadence.parse(spec.checkpoint_every, budget)
    log_cadence = Cadence.parse("1%", budget)
    optimizer = build_optimizer(model, spec, model.spec.layers)
    fingerprint = run.manifest().lineage.tokenizer
    state = TrainingState(tokenizer=fingerprint)
    checkpoint = last_checkpoint(run.checkpoints_path)
    if checkpoint is not None:
        state = load_checkpoint(checkpoint, model, optimizer)
        check_tokenizer(fingerprint, state.tokenizer, str(checkpoint))
        notice(f"going on from step {state.step}")
        threads = run.manifest().lineage.threads
        if threads != torch.get_num_threads():
            notice(
                f"begun with {threads} compute threads, now {torch.get_num_threads()}: "
                "the result may differ in the last digits"
            )
    if world.is_main:
        run.rewind_metrics(state.step)
    if spec.compile == "auto" and checkpoint is None:
        is_faster = compile_if_faster(model, lambda: _compute(model, objective, batches(0)))
        state = state.model_copy(update={"compiled": is_faster})
    elif spec.compile is True or state.compiled:
        compile_model(model)

    is_over = spec.patience > 0 and state.evaluations_without_better >= spec.patience
    start = Clock(step=state.step, tokens=state.tokens, seconds=state.seconds)
    with (
        Interruption() as interruption,
        prefetch(batches) as prepared,
        Progress(what, budget.total, start=budget.spent(start)) as progress,
    ):
        steps = train(
            model,
            objective,
            optimizer,
            prepared,
            spec=spec,
            budget=budget,
            seed=seed,
            start=start,
            skipped_in_a_row=state.skipped_in_a_row,
            world=world,
            is_interrupted=lambda: interruption.requested,
        )
        while not is_over and (step := next(steps, None)) is not None:
            is_last = budget.is_over(step.clock)
            state = _count(state, step)
            if world.is_main and (
                is_last or step.is_skipped or log_cadence.is_due(step.before, step.clock)
            ):
                run.log(**_logged(step))
            if step.is_skipped:
                notice(f"step {step.clock.step}: the loss is not finite; step skipped")

            is_due = is_last or evaluation_cadence.is_due(step.before, step.clock)
            if evaluate is not None and is_due:
                evaluated = evaluate(state)
                evaluated = replace(evaluated, score=world.broadcast(evaluated.score))
                epoch = round(step.clock.step / steps_per_epoch, 4)
                state = _judge(run, model, state, evaluated, epoch, world)
                notice(f"{what}: {_place(step, budget)} · {evaluated.line}")
                is_over = spec.patience > 0 and state.evaluations_without_better >= spec.patience
            progress.set(budget.spent(step.clock), _detail(step, start))

            must_save = (
                is_last
                or is_over
                or step.is_interrupted
                or checkpoint_cadence.is_due(step.before, step.clock)
            )
            if must_save and world.is_main and not step.skipped_in_a_row and is_finite(model):
                save_checkpoint(run.checkpoints_path, model, optimizer, state)
            if step.is_interrupted and not (is_last or is_over):
                raise InterruptedRunError(
                    f"Stopped at step {state.step}; the state is saved in {run.path}.",
                    hint="the same command with --resume goes on from there",
                )
    if is_over and not budget.is_over(Clock(state.step, state.tokens, state.seconds)):
        notice(f"{what}: stopped early, nothing better for {spec.patience} evaluations")
    if not is_over and state.step < FEW_STEPS:
        notice(f"{what}: only {state.step} steps were made; a longer --budget would teach more")
    if spec.keep == "best" and state.best_step is not None and state.best_step != state.step:
        world.barrier()
        path = best_path(run.checkpoints_path, state.best_step)
        load_exact(model, load_tensors(path, state.best_hash), str(path))
        figures = ", ".join(f"{name} {value:.4g}" for name, value in state.best_evaluation.items())
        notice(f"{what}: the best weights are kept, those of step {state.best_step}: {figures}")
    return state


def finish(run: RunDirectory, model: Model, state: TrainingState, spec: TrainSpec) -> None:
    """Write the final weights, mark the run as finished, drop the state for resuming."""
    digest = save_tensors(run.weights_path, model.state_dict())
    kept = state.best_evaluation if spec.keep == "best" else state.last_evaluation
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
                    **kept,
                },
            }
        )
    )
    shutil.rmtree(run.checkpoints_path, ignore_errors=True)


def _compute(model: Model, objective: Objective, parts: Sequence[Batch]) -> None:
    """What a step computes, without taking it."""
    model.train()
    for part in parts:
        sum(objective.loss(model, part).values(), torch.zeros(())).backward()  # type: ignore[no-untyped-call]
    model.zero_grad(set_to_none=True)


def _count(state: TrainingState, step: Step) -> TrainingState:
    return state.model_copy(
        update={
            "step": step.clock.step,
            "tokens": step.clock.tokens,
            "seconds": step.clock.seconds,
            "skipped": state.skipped + step.is_skipped,
            "skipped_in_a_row": step.skipped_in_a_row,
        }
    )


def _judge(
    run: RunDirectory,
    model: Model,
    state: TrainingState,
    evaluated: Evaluated,
    epoch: float,
    world: World,
) -> TrainingState:
    """Log a look; if it is the best so far, keep the weights."""
    if world.is_main:
        seconds = round(state.seconds, 3)
        run.log(step=state.step, kind="valid", epoch=epoch, seconds=seconds, **evaluated.metrics)
    is_better = math.isfinite(evaluated.score) and (
        state.best_score is None or evaluated.score > state.best_score
    )
    if not is_better:
        return state.model_copy(
            update={
                "evaluations_without_better": state.evaluations_without_better + 1,
                "last_evaluation": evaluated.metrics,
            }
        )
    digest = save_best(run.checkpoints_path, model, state.step) if world.is_main else None
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


def _logged(step: Step) -> dict[str, Any]:
    return {
        "step": step.clock.step,
        "kind": "train",
        "seconds": round(step.clock.seconds, 3),
        "tokens": step.clock.tokens,
        "loss": step.loss,
        **(step.terms if len(step.terms) > 1 else {}),
        "lr": step.lr,
        "gradient_norm": step.gradient_norm,
        "tokens_per_second": round(
            step.tokens / max(step.clock.seconds - step.before.seconds, 1e-9)
        ),
        "skipped": step.is_skipped,
    }


def _detail(step: Step, start: Clock) -> str:
    seconds = max(step.clock.seconds - start.seconds, 1e-9)
    speed = format_count((step.clock.tokens - start.tokens) / seconds)
    return f"step {step.clock.step} · {speed} tokens/s · loss {step.loss:.3f}"


def _place(step: Step, budget: Budget) -> str:
    if budget.span.unit == "epochs":
        return f"epoch {step.clock.step / budget.steps_per_epoch:.3g}"
    return f"step {step.clock.step}"

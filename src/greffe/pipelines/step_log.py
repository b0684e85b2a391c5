"""What is logged and printed of a training step."""

from __future__ import annotations

from typing import Any

from greffe.progress import format_count, notice
from greffe.run import RunDirectory
from greffe.training.checkpoint import TrainingState
from greffe.training.loop import Step
from greffe.training.schedule import Budget, Clock


def log_step(
    run: RunDirectory, state: TrainingState, step: Step, *, is_due: bool, is_main: bool
) -> None:
    """Log a step that is due or was skipped; say what was skipped since the last one read."""
    if is_main and (is_due or step.is_skipped):
        run.log(**_log_line(step))
    skipped = step.outcome.read().skipped - state.skipped
    if skipped == 1 and step.is_skipped:
        notice(f"step {step.clock.step}: the loss is not finite; step skipped")
    elif skipped:
        notice(f"step {step.clock.step}: {skipped} steps were skipped; their loss is not finite")


def _log_line(step: Step) -> dict[str, Any]:
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


def progress_detail(step: Step, start: Clock) -> str:
    """Return what a progress line says of a step: its number, the speed since `start`, its loss."""
    seconds = max(step.clock.seconds - start.seconds, 1e-9)
    speed = format_count((step.clock.tokens - start.tokens) / seconds)
    return f"step {step.clock.step} · {speed} tokens/s · loss {step.loss:.3f}"


def position(step: Step, budget: Budget) -> str:
    """Return how far a training is, in the budget's unit: epochs or steps."""
    if budget.span.unit == "epochs":
        return f"epoch {step.clock.step / budget.steps_per_epoch:.3g}"
    return f"step {step.clock.step}"

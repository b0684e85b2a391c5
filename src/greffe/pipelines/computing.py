"""Where and how a run computes: chosen when it begins, kept when it is resumed."""

from __future__ import annotations

from collections.abc import Sequence

from greffe.config.sections import TrainSpec
from greffe.errors import MismatchError
from greffe.model.arithmetic import MatrixProduct
from greffe.progress import notice
from greffe.run import RUN_FILE, RunDirectory
from greffe.training.device import Compute, choose_compute, choose_device, warn_if_slow
from greffe.training.distributed import World


def compute_of(
    run: RunDirectory,
    spec: TrainSpec,
    products: Sequence[MatrixProduct],
    world: World,
    what: str,
) -> Compute:
    """Return where and how a training computes; all ranks do as the first one measured."""
    if (run.path / RUN_FILE).exists():
        return _resumed(run, spec, products, what)
    chosen = choose_compute(spec.device, spec.precision, products, what=what)
    is_half = world.broadcast(float(chosen.precision == "bf16"))
    return Compute(chosen.device, "bf16" if is_half else "fp32")


def _resumed(
    run: RunDirectory, spec: TrainSpec, products: Sequence[MatrixProduct], what: str
) -> Compute:
    """Return the precision that the run was started in: another one would give another result."""
    begun = run.manifest().lineage
    if spec.precision not in ("auto", begun.precision):
        raise MismatchError(
            f"{run.path} was started in {begun.precision} and cannot be resumed in "
            f"{spec.precision}.",
            expected=f"--precision {begun.precision}, or auto, which keeps it",
            found=f"--precision {spec.precision}",
            hint="leave it out, start again with --overwrite, or continue from its weights in a "
            f"new run with --from {run.path}",
        )
    compute = Compute(choose_device(spec.device), begun.precision)
    if compute.device.type != begun.device:
        notice(
            f"{what}: the run was started on {begun.device}, now it computes on "
            f"{compute.device.type}: the result will differ in the last digits"
        )
    advice = "for fp32, start a new run with --from"
    warn_if_slow(compute, products, what, begun="run", advice=advice)
    return compute

"""Where and in which precision a model computes: chosen once, before the first step.

A device is looked up; on a CPU, the precision is measured on the matrix products that the work
consists of. Processors with bf16 units multiply two to four times as fast in bf16 as in fp32,
others hundreds of times slower, and their names say little about it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch

from greffe.config.options import DeviceName, PrecisionName
from greffe.errors import InputError
from greffe.machine import local_rank, local_ranks
from greffe.model.arithmetic import MatrixProduct
from greffe.model.model import Model
from greffe.progress import notice

Precision = Literal["fp32", "bf16"]

WORTH = 1.2
"""Times the speed of fp32 from which on bf16 is chosen: products are most of the work, not all."""
NARROW = 128
"""Width below which auto does not measure: the time goes into everything but the products."""
ROUNDS = 3
MOST_OPERATIONS = 1e9
"""Of a measured product; larger ones are measured on fewer rows."""
HOPELESS = 5.0
"""Times that bf16 may be slower on a few rows before the measurement ends: it may take minutes."""
FEW_ROWS = 16


@dataclass(frozen=True)
class Compute:
    """A device, and the precision of matrix products and activations on it."""

    device: torch.device
    precision: Precision = "fp32"

    def place(self, model: Model) -> Model:
        """Move a model to the device and let it compute in the precision; return the same model."""
        model.base.dtype = torch.bfloat16 if self.precision == "bf16" else None
        return model.to(self.device)


def choose_device(name: DeviceName) -> torch.device:
    """Return the device of this name; auto is a GPU if there is one. Raise an error if it is not
    there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if _has_mps() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        built = torch.version.cuda or torch.version.hip
        raise InputError(
            "There is no CUDA device.",
            expected="a GPU that torch can use",
            found=f"torch {torch.__version__}, "
            + ("which finds none" if built else "built without CUDA"),
            hint="--device cpu, or --device auto, which takes a GPU only if there is one",
        )
    if name == "mps" and not _has_mps():
        raise InputError(
            "There is no MPS device.",
            expected="a Mac with an Apple GPU, and a torch that was built for it",
            found=f"torch {torch.__version__}",
            hint="--device cpu, or --device auto, which takes a GPU only if there is one",
        )
    if name != "cpu":
        _require_one_gpu_each(name)
    if name == "cuda":
        device = torch.device("cuda", local_rank())
        torch.cuda.set_device(device)
        return device
    return torch.device(name)


def _require_one_gpu_each(name: DeviceName) -> None:
    """Raise an error if processes of torchrun would share a GPU: they could not exchange sums."""
    there = torch.cuda.device_count() if name == "cuda" else 1
    if local_ranks() > there or local_rank() >= there:
        raise InputError(
            f"There are more processes than GPUs ({name}).",
            expected=f"at most {there} on this machine, one for each GPU",
            found=f"{local_ranks()} processes",
            hint=f"torchrun --nproc-per-node {there}, or --device cpu",
        )


def choose_compute(
    device: DeviceName, precision: PrecisionName, products: Sequence[MatrixProduct], *, what: str
) -> Compute:
    """Return where and how to compute, and say why in one line that begins with `what`."""
    chosen = choose_device(device)
    if chosen.type != "cpu":
        return _on_gpu(chosen, precision, what)
    if precision == "fp32" or not products:
        return Compute(chosen, "bf16" if precision == "bf16" else "fp32")
    narrowest = min(min(product.inputs, product.outputs) for product in products)
    if precision == "auto" and narrowest < NARROW:
        return Compute(chosen, "fp32")
    ratio = measured_speed(products)
    if precision == "bf16":
        if ratio < 1:
            notice(
                f"{what}: bf16 as asked, though its matrix products run at {ratio:.2g} times the "
                "speed of fp32 on this processor (--precision auto would take fp32)"
            )
        return Compute(chosen, "bf16")
    is_worth = ratio >= WORTH
    notice(
        f"{what}: {'bf16' if is_worth else 'fp32'} on the CPU; its matrix products were measured "
        f"at {ratio:.2g} times the speed in bf16 as in fp32"
    )
    return Compute(chosen, "bf16" if is_worth else "fp32")


def warn_if_slow(
    compute: Compute, products: Sequence[MatrixProduct], what: str, *, begun: str, advice: str
) -> None:
    """Print a notice if what was begun, and is resumed, keeps bf16 where that is slow."""
    if compute.precision != "bf16" or compute.device.type != "cpu" or not products:
        return
    if (ratio := measured_speed(products)) < 1:
        notice(
            f"{what}: bf16, in which the {begun} was started, though its matrix products run at "
            f"{ratio:.2g} times the speed of fp32 on this processor; {advice}"
        )


def measured_speed(products: Sequence[MatrixProduct]) -> float:
    """Return the time of the products in fp32 over that in bf16 on the CPU, in about 0.2 s.

    The same products with as many threads are measured once in a process.
    """
    return _measured_speed(tuple(products), torch.get_num_threads())


@cache
def _measured_speed(products: tuple[MatrixProduct, ...], threads: int) -> float:
    first = products[0]
    few = MatrixProduct(FEW_ROWS, first.inputs, first.outputs)
    exact, half = _seconds(few)
    if half > HOPELESS * exact:
        return exact / half
    in_fp32 = in_bf16 = 0.0
    for product in products:
        exact, half = _seconds(product)
        in_fp32 += product.times * exact
        in_bf16 += product.times * half
    return in_fp32 / in_bf16


def _seconds(product: MatrixProduct) -> tuple[float, float]:
    """Return the least time of one product in fp32 and in bf16, which take turns."""
    per_row = 2 * product.inputs * product.outputs
    rows = max(FEW_ROWS, min(product.rows, int(MOST_OPERATIONS / per_row)))
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, product.inputs, generator=generator)
    weight = torch.randn(product.outputs, product.inputs, generator=generator)
    operands = [(x.to(dtype), weight.to(dtype)) for dtype in (torch.float32, torch.bfloat16)]
    least = [float("inf"), float("inf")]
    with torch.inference_mode():
        for number in range(ROUNDS + 1):
            for index, (left, right) in enumerate(operands):
                start = time.perf_counter()
                torch.nn.functional.linear(left, right)
                if number:  # the first one builds the kernel
                    least[index] = min(least[index], time.perf_counter() - start)
    exact, half = least
    return exact * product.rows / rows, half * product.rows / rows


def _on_gpu(device: torch.device, precision: PrecisionName, what: str) -> Compute:
    """Return the precision of a GPU: bf16 where it has units for it."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        has_units = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        name, has_units = "Apple GPU", False  # bf16 works on some of them, and was not tried
    is_half = precision == "bf16" or (precision == "auto" and has_units)
    chosen: Precision = "bf16" if is_half else "fp32"
    if precision == "bf16" and not has_units:
        notice(f"{what}: bf16 as asked, though {name} has no units for it")
    notice(f"{what}: {chosen} on {device}, {name}")
    return Compute(device, chosen)


def _has_mps() -> bool:
    return torch.backends.mps.is_available()

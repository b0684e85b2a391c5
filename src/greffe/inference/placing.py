"""Where and in which precision a trained model computes: chosen when it is known how much there is.

Little is computed in fp32 at once. For much, `auto` measures whether bf16 is faster. int8 is used
only if it is asked for.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import nn

from greffe.config.options import Computing, DeviceName, Labelling
from greffe.errors import InputError
from greffe.inference.inference_base import HALF, InferenceBase
from greffe.kernels.int8_linear import Int8Linear, has_int8
from greffe.model.arithmetic import matrix_products
from greffe.model.model import Model
from greffe.progress import notice
from greffe.training.device import Compute, choose_compute, choose_device

MUCH = 80_000
"""Characters, about 20,000 tokens, from which on a measurement of 0.2 seconds pays."""
MEASURED_TOKENS = 1024
MEASURED_ROWS = 64
ROUNDS = 5
CPU = torch.device("cpu")
AS_IT_IS = Computing(device="cpu", precision="fp32")


class PlacedModel:
    """A trained model that reads texts, in the precision that its work is worth.

    Once a precision is chosen for much text, it stays.
    """

    def __init__(self, model: Model, computing: Computing | Labelling, what: str) -> None:
        self.plain = model
        self.computing = computing
        self.what = what
        is_int8 = computing.precision == "int8"
        self._settled = int8_model(model, computing.device, what) if is_int8 else None

    def model_for(self, texts: Sequence[str]) -> Model:
        """Return the model that reads these texts; the plain one if it is fp32 on a CPU."""
        if self._settled is not None:
            return self._settled
        is_much = sum(map(len, texts)) >= MUCH
        chosen = self._place(is_much)
        if is_much or self.computing.precision != "auto":
            self._settled = chosen
        return chosen

    def _place(self, is_much: bool) -> Model:
        device, precision = self.computing.device, self.computing.precision
        assert precision != "int8"
        if not is_much and choose_device(device) == CPU:
            compute = Compute(CPU, "bf16" if precision == "bf16" else "fp32")
        else:
            products = matrix_products(self.plain.spec, MEASURED_TOKENS)
            compute = choose_compute(device, precision, products, what=self.what)
        if compute.device != CPU:
            return place_generator(self.plain, compute)
        return self.plain if compute.precision == "fp32" else _with_base(self.plain, int8=False)


def generator_model(model: Model, computing: Computing | Labelling, what: str) -> Model:
    """Return the model for one row at a time, where bf16 gains nothing: auto is fp32 on a CPU."""
    device, precision = computing.device, computing.precision
    if precision == "int8":
        raise InputError(
            f"{what} does not compute in int8.",
            expected="precision auto, fp32 or bf16",
            found="int8, which is for labels of texts",
        )
    if choose_device(device) != CPU:
        return place_generator(model, choose_compute(device, precision, (), what=what))
    if precision != "bf16":
        return model
    return place_generator(copy.deepcopy(model), Compute(CPU, "bf16"))


def place_generator(model: Model, compute: Compute) -> Model:
    """Move a model to a device; its blocks keep their matrices in the precision of the products."""
    placed = compute.place(model)
    if compute.precision == "bf16":
        for module in placed.base.blocks.modules():
            if isinstance(module, nn.Linear):
                module.to(HALF)
    return placed


def int8_model(model: Model, device: DeviceName, what: str) -> Model:
    """Return a model whose base has quantized linear layers; an error if it cannot be made."""
    if device not in ("auto", "cpu"):
        raise InputError(
            "int8 is computed on a CPU.",
            expected="--precision int8 with --device cpu or auto",
            found=f"--device {device}",
            hint="on a GPU, use --precision bf16",
        )
    if not model.spec.layers:
        raise InputError(
            "This model has no linear layers that int8 could speed up.",
            expected="a base with model.layers of 1 or more",
            found="model.layers = 0",
            hint="leave out --precision",
        )
    if not has_int8():
        raise InputError(
            "This build of torch cannot compute in int8.",
            expected="torch with oneDNN, as on Linux and Windows",
            found=f"torch {torch.__version__} without it",
            hint="leave out --precision, or use --precision bf16",
        )
    if (ratio := int8_speed(model)) < 1:
        notice(
            f"{what}: int8 as asked, though its matrix products run at {ratio:.2g} times the speed "
            "of fp32 on this processor"
        )
    return _with_base(model, int8=True)


def int8_speed(model: Model) -> float:
    """Return the time of a linear layer in fp32 over that in int8, in a few milliseconds."""
    weight = torch.randn(model.spec.feed_forward, model.spec.width)
    bias = torch.zeros(len(weight))
    x = torch.randn(MEASURED_ROWS, model.spec.width)
    quantized = Int8Linear(weight, bias)
    return _seconds(lambda: F.linear(x, weight, bias)) / _seconds(lambda: quantized(x))


def _seconds(work: Callable[[], object]) -> float:
    least = float("inf")
    with torch.inference_mode():
        for number in range(ROUNDS + 1):
            start = time.perf_counter()
            work()
            if number:  # the first one builds the kernel
                least = min(least, time.perf_counter() - start)
    return least


def _with_base(model: Model, *, int8: bool) -> Model:
    """Return a model with the same heads, and with a base that is converted for inference."""
    twin = copy.copy(model)
    twin._modules = dict(model._modules)
    with torch.inference_mode():
        twin.base = InferenceBase(model.base, int8=int8)
    return twin

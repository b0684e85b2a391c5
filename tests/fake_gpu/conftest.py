"""A GPU that has no numbers: every tensor on it is a shape, a type and a device.

torch's FakeTensorMode computes shapes only, and refuses operations whose inputs are on different
devices. A torch that was built without CUDA cannot differentiate tensors on a fake cuda device, so
the device is one that torch lets Python define. It cannot be taken back: these tests run in a
process of their own, which tests/unit/test_fake_gpu.py starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec
from greffe.data.batches import Batch
from greffe.model.model import Model

NAME = "fakegpu"
_setup_privateuseone_for_python_backend(NAME)
fake_tensor.CONSTANT_NUMEL_LIMIT = 0  # it would compute with single numbers, on the device
torch.autograd.set_multithreading_enabled(False)  # torch cannot end a thread of such a device

READING = ("_local_scalar_dense", "item", "is_nonzero")
"""Operations that return a number from a tensor."""
WAITING = (*READING, "nonzero", "equal", "masked_select", "unique", "unique_dim", "_unique2")
"""Those, and the ones whose shapes depend on numbers: the host waits for them."""


class Waiting(TorchDispatchMode):
    """Counts, or refuses, whatever the host would wait for."""

    def __init__(self, *, refuse: bool) -> None:
        super().__init__()
        self.refuse = refuse
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = str(func.overloadpacket.__name__)
        given = [item for item in args if isinstance(item, torch.Tensor)]
        devices = {tensor.device.type for tensor in given}
        if NAME in devices and name in WAITING:
            self._wait(name)
        if name in READING:  # an answer, so that inference can go on
            return True if given[0].dtype == torch.bool else 0
        result = func(*args, **kwargs)
        if isinstance(result, torch.Tensor):
            devices.add(result.device.type)
        is_copy = name in ("_to_copy", "to", "cpu")
        if is_copy and len(devices) > 1 and not (kwargs.get("non_blocking") or True in args[1:]):
            self._wait(name)
        return result

    def _wait(self, name: str) -> None:
        self.seen.append(name)
        assert not self.refuse, f"{name} waits for the device"


class FakeGpu:
    """The device, and what is made on it."""

    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode = mode
        self.device = torch.device(NAME, 0)

    def model(
        self, spec: ModelSpec, vocab: int, heads: dict[str, HeadSpec], dtype: torch.dtype | None
    ) -> Model:
        """A model whose weights are on the device."""
        with torch.device(self.device):
            model = Model(spec, vocab, heads)
        model.base.dtype = dtype
        return model

    def host(self, batch: Batch) -> Batch:
        """A batch in fake memory of the host."""
        return batch._changed(self.mode.from_tensor)


@pytest.fixture
def gpu() -> Iterator[FakeGpu]:
    """Inside the test, all tensors are fake."""
    with FakeTensorMode(allow_non_fake_inputs=False) as mode:
        yield FakeGpu(mode)


@pytest.fixture
def numbers(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """After it is called, fake tensors of the host become arrays of zeros."""

    def zeros(tensor: torch.Tensor) -> np.ndarray:
        assert tensor.device.type == "cpu"
        name = str(tensor.dtype).removeprefix("torch.")
        return np.zeros(tuple(tensor.shape), dtype=name)

    def patch() -> None:
        monkeypatch.setattr(FakeTensor, "numpy", zeros, raising=False)

    return patch

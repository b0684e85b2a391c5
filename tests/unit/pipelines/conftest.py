"""Shared by the tests of pipelines: a training that is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from greffe.errors import InterruptedRunError
from greffe.pipelines import fit
from greffe.training.interruption import Interruption


class StopsAtOnce(Interruption):
    """Requests to stop before the second step."""

    @property
    def requested(self) -> bool:
        return True

    @requested.setter
    def requested(self, value: bool) -> None:
        pass


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """`with interrupted():` stops a training inside before its second step."""

    @contextmanager
    def stop() -> Iterator[None]:
        with monkeypatch.context() as patch, pytest.raises(InterruptedRunError):
            patch.setattr(fit, "Interruption", StopsAtOnce)
            yield

    return stop

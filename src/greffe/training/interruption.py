"""Turn Ctrl-C and SIGTERM into a flag that the loop checks between steps."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, ClassVar, Self


class Interruption:
    """Inside the block, the first signal only sets `requested`; a second one acts immediately."""

    signals: ClassVar[tuple[signal.Signals, ...]] = (signal.SIGINT, signal.SIGTERM)
    is_in_worker: ClassVar[bool] = False

    def __init__(self) -> None:
        self.requested = False
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        # Python allows signal handlers in the main thread only; elsewhere the caller handles them.
        if threading.current_thread() is threading.main_thread():
            for number in self.signals:
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        if not self.is_in_worker:
            self._restore()

    def _restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}


def obey_parent_only() -> None:
    """Let this worker process stop when its parent says so with SIGTERM, and save its state then.

    A terminal sends Ctrl-C to all processes of a command, a service manager SIGTERM; the parent
    passes both on. The second signal must not end a worker that is saving: the parent can kill it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Interruption.signals = (signal.SIGTERM,)
    Interruption.is_in_worker = True

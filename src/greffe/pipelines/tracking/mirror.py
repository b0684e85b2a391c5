"""Mirror: passes a run's lines on to one tracker, in a thread of its own.

Training never waits for a tracker, and no error of a tracker reaches it: the first one switches
the tracker off, with a notice.
"""

from __future__ import annotations

import os
import threading
from queue import Empty, SimpleQueue

from greffe.errors import quote
from greffe.pipelines.tracking.tracker import Ending, Line, RunFacts, Tracker
from greffe.progress import notice

CLOSE_SECONDS = 20.0
"""How long the end of a training waits for its trackers to take the last lines."""


class Mirror:
    """One tracker of a run, fed through a queue."""

    def __init__(self, kind: type[Tracker], run: RunFacts) -> None:
        self.kind = kind
        self.is_off = False
        self._run = run
        self._lines: SimpleQueue[Line | None] = SimpleQueue()
        self._result: Line | None = None
        self._ending: Ending = "failed"
        # Here and not in the thread: the C library does not let two threads do this at once.
        self._environment = kind.environment.keys() - os.environ.keys()
        os.environ.update({name: kind.environment[name] for name in self._environment})
        # A daemon: a tracker that hangs does not keep the process alive.
        self._thread = threading.Thread(target=self._work, name=kind.name, daemon=True)
        self._thread.start()

    def log(self, line: Line) -> None:
        """Pass a line on; return at once."""
        if not self.is_off:
            self._lines.put(line)

    def finish(self, result: Line) -> None:
        """Pass the run's result on when the mirror is closed."""
        self._result = result

    def close(self, ending: Ending) -> None:
        """Let the tracker take what is left, for a limited time."""
        self._ending = ending
        self._lines.put(None)
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive() and not self.is_off:
            self._switch_off(f"it has not taken all figures after {CLOSE_SECONDS:.0f} seconds")
        for name in self._environment:
            os.environ.pop(name, None)

    # --- in the thread ---

    def _work(self) -> None:
        try:
            tracker = self.kind(self._run)
            is_open = True
            while is_open:
                lines, is_open = self._waiting()
                if lines:
                    tracker.log(lines)
            if self._result is not None:
                tracker.finish(self._result)
            tracker.close(self._ending)
        except BaseException as error:  # sys.exit and panics of a Rust library are no Exception
            self._switch_off(_describe(error))

    def _waiting(self) -> tuple[list[Line], bool]:
        """Wait for a line; return all that are there, and whether more may come."""
        lines = []
        item = self._lines.get()
        while item is not None:
            lines.append(item)
            try:
                item = self._lines.get_nowait()
            except Empty:
                return lines, True
        return lines, False

    def _switch_off(self, reason: str) -> None:
        if not self.is_off:
            self.is_off = True
            notice(f"{self.kind.name}: switched off, training is not affected: {reason}")


def _describe(error: BaseException) -> str:
    """Return an error in one line."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {quote(first)}" if first else type(error).__name__

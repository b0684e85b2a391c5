"""Progress bars and one-line notices on standard error.

In a terminal, a bar is updated in place; otherwise a plain line is printed every few seconds. Both
show the task, the fraction done, the speed and the remaining time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Self

from greffe.display import terminal_text

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINE_SECONDS = 10.0
BAR_SECONDS = 0.1
_quiet = False
_folded = False


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress progress and notices inside the block."""
    global _quiet
    before, _quiet = _quiet, True
    try:
        yield
    finally:
        _quiet = before


def silence() -> None:
    """Suppress progress and notices for the rest of the process."""
    global _quiet
    _quiet = True


def notice(text: str) -> None:
    """Print a message for the user, above the progress bar if there is one."""
    if _quiet or _folded:
        return
    text = terminal_text(text)
    if Progress.active is not None and Progress.active.bar is not None:
        Progress.active.bar.console.print(text, markup=False, highlight=False)
    else:
        print(text, file=sys.stderr, flush=True)


@cache
def notice_once(text: str) -> None:
    """Print a message that the same process has not printed yet."""
    notice(text)


def format_seconds(seconds: float) -> str:
    """Format a duration: `0:07`, `12:30`, `1:02:03`."""
    minutes, left = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def format_count(amount: float) -> str:
    """Format a count with three or four significant digits: `950`, `12.3k`, `4.56M`."""
    # Above each limit, rounding would reach the next unit.
    for limit, scale, unit in ((999.5e6, 1e9, "G"), (999.5e3, 1e6, "M"), (9999.5, 1e3, "k")):
        if abs(amount) >= limit:
            return f"{amount / scale:.3g}{unit}"
    return f"{amount:.4g}"


class Progress:
    """A bar in a terminal, plain lines elsewhere: `with Progress("encode", n) as p: p.advance(1)`.

    `total` is the amount of work; with None, the fraction and the remaining time are not shown.
    """

    active: Progress | None = None

    def __init__(
        self, what: str, total: float | None, unit: str = "", *, start: float = 0.0
    ) -> None:
        self.what = what
        self.total = total
        self.unit = unit
        self.done = start
        self.detail = ""
        self._start = start
        self._began = time.monotonic()
        self._last_shown = self._began
        self._last_done: float | None = None
        self._part: tuple[float, float] | None = None
        self._outer: Progress | None = None
        self.bar: Bar | None = None

    def __enter__(self) -> Self:
        self._outer, Progress.active = Progress.active, self
        if sys.stderr.isatty() and not _quiet and self._outer is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self.bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24, complete_style="cyan", finished_style="cyan"),
                TextColumn("{task.fields[status]}"),
                console=Console(stderr=True),
                transient=False,
            )
            self._task = self.bar.add_task(self.what, total=self.total, status="")
            self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._show(final=True, failed=kind is not None)
        if self.bar is not None:
            self.bar.stop()
        Progress.active = self._outer

    def advance(self, amount: float, detail: str | None = None) -> None:
        """Add to the amount done; `detail` is shown at the end of the line."""
        self.set(self.done + amount, detail)

    def set(self, done: float, detail: str | None = None) -> None:
        """Set the total amount done."""
        self.done = done
        if detail is not None:
            self.detail = detail
        if self._outer is not None and self._outer._part is not None:
            begin, amount = self._outer._part
            self._outer.set(begin + amount * min(1.0, done / self.total if self.total else 0.0))
            return
        pause = LINE_SECONDS if self.bar is None else BAR_SECONDS
        if time.monotonic() - self._last_shown >= pause:
            self._show()

    @contextmanager
    def part(self, amount: float, detail: str) -> Iterator[None]:
        """Count the work inside the block as `amount`; nested progress advances this bar."""
        global _folded
        begin, was_folded = self.done, _folded
        self._part, _folded = (begin, amount), True
        self.set(begin, detail)
        try:
            yield
        finally:
            self._part, _folded = None, was_folded
        self.set(begin + amount)

    def status(self) -> str:
        """Return fraction, speed, remaining time and detail as plain text."""
        elapsed = max(time.monotonic() - self._began, 1e-9)
        speed = (self.done - self._start) / elapsed
        parts = []
        if self.total:
            parts.append(f"{min(1.0, self.done / self.total):4.0%}")
        if self.unit:
            parts.append(f"{format_count(self.done)} {self.unit}, {format_count(speed)}/s")
        if self.total and speed > 0 and self.done < self.total:
            parts.append(f"{format_seconds((self.total - self.done) / speed)} left")
        else:
            parts.append(f"{format_seconds(elapsed)} taken")
        if self.detail:
            parts.append(self.detail)
        return " · ".join(parts)

    def _show(self, *, final: bool = False, failed: bool = False) -> None:
        self._last_shown = time.monotonic()
        if _quiet or (self._outer is not None and self._outer._part is not None):
            return
        if self.bar is not None:
            self.bar.update(self._task, completed=self.done, status=self.status())
        elif not final or (not failed and self.done != self._last_done):
            self._last_done = self.done
            print(f"{self.what}: {self.status()}", file=sys.stderr, flush=True)

"""Count inputs and problems; keep an input of each different problem."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from tools.fuzz.pool import Result
from tools.fuzz.shrink import shrink
from tools.fuzz.targets import Target

PROGRESS_SECONDS = 30.0


class Tally:
    """How many inputs each target had, and the first input of each problem."""

    def __init__(self) -> None:
        self.inputs: Counter[str] = Counter()
        self.problems: Counter[tuple[str, str]] = Counter()
        self.successes: Counter[str] = Counter()
        self.first: dict[tuple[str, str, str], Result] = {}
        self._began = time.monotonic()

    def add_all(self, results: Iterable[Result]) -> None:
        """Count the results; report progress and new problems on standard error."""
        shown = self._began
        for result in results:
            self.add(result)
            if time.monotonic() - shown > PROGRESS_SECONDS:
                shown = time.monotonic()
                print(self.summary(), file=sys.stderr, flush=True)

    def add(self, result: Result) -> None:
        """Count one result."""
        name, problem = result.job.target.name, result.problem
        self.inputs[name] += 1
        self.successes[name] += result.code == 0
        if problem is None:
            return
        self.problems[name, problem.kind] += 1
        key = (name, problem.kind, problem.where)
        if key not in self.first:
            self.first[key] = result
            print(f"{name}: {problem.kind}: {problem.where}", file=sys.stderr, flush=True)

    def require_success(self, targets: Iterable[Target]) -> None:
        """Raise an error for a target of which no input was read: it would test nothing."""
        for target in targets:
            if self.inputs[target.name] and not self.successes[target.name]:
                sys.exit(f"no example of {target.name} can be read: its commands are wrong")

    def summary(self) -> str:
        """Return one line: how far, how fast, how many problems."""
        total, seconds = self.inputs.total(), time.monotonic() - self._began
        speed = total / max(seconds, 1e-9)
        return f"{total:,} inputs, {speed:.0f}/s, {len(self.first)} different problems"

    def table(self) -> str:
        """Return the numbers of inputs and of each kind of problem, target by target."""
        lines = [f"{'target':<22}{'inputs':>8}  problems"]
        for name, inputs in sorted(self.inputs.items()):
            kinds = {kind: n for (of, kind), n in self.problems.items() if of == name}
            shown = ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "0"
            lines.append(f"{name:<22}{inputs:>8,}  {shown}")
        return "\n".join([*lines, self.summary()])

    def save(self, out: Path, world: Path, *, smaller: bool) -> None:
        """Write an input of each problem to `out`/TARGET, with a log of what happened."""
        for (name, kind, where), result in self.first.items():
            assert result.problem is not None
            data = shrink(result.job, result.problem, world) if smaller else result.job.data
            path = out / name / sha256(data).hexdigest()[:12]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.with_suffix(".log").write_text(f"{kind}: {where}\n{result.problem.detail}\n")
            print(f"{path}: {kind}: {where}")

"""A run whose log is mirrored to trackers while it is trained.

The log of a soup holds its first model and the average, so these are what trackers show. Of a
fine-tuning that was restarted they show the first training and the result.
"""

from __future__ import annotations

import difflib
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from greffe.errors import InterruptedRunError, RecipeError, quote
from greffe.pipelines.run_folder import flatten
from greffe.pipelines.tracking.mirror import Mirror
from greffe.pipelines.tracking.tracker import TRACKERS, Ending, Line, RunFacts
from greffe.progress import notice
from greffe.run import Manifest, RunDirectory
from greffe.training.distributed import World


def check_trackers(track: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of trackers, each once; raise an error if one is not known."""
    words = [track] if isinstance(track, str) else track
    names = [name.strip() for word in words for name in str(word).split(",")]
    for name in names:
        if name not in TRACKERS:
            close = difflib.get_close_matches(name.lower(), TRACKERS, n=1)
            raise RecipeError(
                f"--track {quote(name)} is not a known tracker.",
                expected=f"one of {', '.join(TRACKERS)}",
                hint=f"did you mean {close[0]}?" if close else None,
            )
    return tuple(dict.fromkeys(names))


@contextmanager
def tracked(run: RunDirectory, track: str | Sequence[str], world: World) -> Iterator[RunDirectory]:
    """Track a run inside the block, on the main rank; yield the run to log to.

    The trackers are opened when the log is rewound, which is when a training knows its first step.
    """
    names = [name for name in check_trackers(track) if world.is_main and _is_installed(name)]
    if not names:
        yield run
        return
    run = _TrackedRun(run, names)
    ending: Ending = "failed"
    try:
        yield run
        ending = "finished"
    except (InterruptedRunError, KeyboardInterrupt):
        ending = "interrupted"
        raise
    finally:
        run.close(ending)


def _is_installed(name: str) -> bool:
    """Return whether a tracker's library is installed; say so if it is not."""
    is_there = find_spec(TRACKERS[name].library) is not None
    if not is_there:
        notice(f'{name}: not installed, and not used; pip install "greffe[{name}]"')
    return is_there


class _TrackedRun(RunDirectory):
    """Mirrors each line of the log, and the result in the manifest of the finished run."""

    def __init__(self, run: RunDirectory, names: Sequence[str]) -> None:
        super().__init__(run.path)
        self.names = names
        self.mirrors: list[Mirror] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the plain run to a worker process, which has trackers of its own."""
        return RunDirectory, (self.path,)

    def rewind_metrics(self, step: int) -> None:
        super().rewind_metrics(step)
        if self.mirrors is None:
            facts = _facts(self, step)
            self.mirrors = [Mirror(TRACKERS[name], facts) for name in self.names]

    def log(self, **fields: Any) -> None:
        super().log(**fields)
        kind = fields.get("kind", "")
        figures = {key: value for key, value in fields.items() if key not in ("step", "kind")}
        line = _line(fields["step"], kind, figures)
        for mirror in self.mirrors or []:
            mirror.log(line)

    def write_manifest(self, manifest: Manifest) -> None:
        super().write_manifest(manifest)
        if manifest.status == "finished":
            result = _line(round(manifest.figure("steps")), "result", manifest.result)
            for mirror in self.mirrors or []:
                mirror.finish(result)

    def close(self, ending: Ending) -> None:
        for mirror in self.mirrors or []:
            mirror.close(ending)


def _facts(run: RunDirectory, step: int) -> RunFacts:
    manifest = run.manifest()
    lineage = manifest.lineage
    tags = {
        "path": str(run.path.resolve()),
        "kind": manifest.kind,
        "parent": lineage.parent or "",
        "command": " ".join(lineage.command),
        "device": lineage.device,
        "precision": lineage.precision,
        "greffe": lineage.versions.get("greffe", ""),
        **{f"data.{part}": digest for part, digest in lineage.data.items()},
    }
    return RunFacts(
        name=run.name,
        folder=run.path,
        parameters=flatten(run.recipe()),
        tags={name: value for name, value in tags.items() if value},
        step=step,
    )


def _line(step: int, kind: str, fields: dict[str, Any]) -> Line:
    """Return the finite numbers of these fields, under names that begin with the kind."""
    figures = {
        f"{kind}/{name}": float(value)
        for name, value in fields.items()
        if isinstance(value, int | float) and math.isfinite(value)
    }
    return Line(step, time.time(), figures)

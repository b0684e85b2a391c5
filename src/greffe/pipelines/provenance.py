"""Feature runs of a pipeline, and which data runs were trained on.

Only what runs record is known: equal texts from another table go unnoticed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from greffe.baselines.features import CachedReader, Reader
from greffe.baselines.linear_runs import feature_runs_of, open_feature_run, run_hash
from greffe.errors import MismatchError
from greffe.progress import notice
from greffe.run import RunDirectory


class FeatureRuns:
    """The feature runs of a study; each reads a text once."""

    def __init__(self, runs: Sequence[RunDirectory] = ()) -> None:
        self.hashes = {run.path: run_hash(run.path) for run in runs}
        """The hash of everything that a run predicts with, by path."""
        self._readers: dict[Path, Reader] = {}
        self.readers(runs)  # one that cannot be read is an error now

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the open runs: a worker process opens those that it needs."""
        return {**self.__dict__, "_readers": {}}

    def readers(self, runs: Sequence[RunDirectory]) -> list[Reader]:
        """Return the readers of these runs, in order."""
        for run in runs:
            if run.path not in self._readers:
                feature_run = open_feature_run(run)
                self._readers[run.path] = CachedReader(feature_run.columns, feature_run.features)
        return [self._readers[run.path] for run in runs]


def warn_if_trained_on(feature_runs: Sequence[RunDirectory], training: Collection[str]) -> None:
    """Print a notice for each feature run that was trained on tables with these hashes."""
    for feature_run in feature_runs:
        if any(trained_on(run, training) for run in lineage_of(feature_run)):
            notice(
                f"{feature_run.name} was trained on these training texts: the cross-validated "
                "accuracy is optimistic, and the model will rely on it too much"
            )


def earlier_data(parent: RunDirectory | None) -> dict[str, str]:
    """Return hashes of the labelled data of a parent: a run that starts from it has seen it too."""
    if parent is None or (manifest := parent.manifest()).kind == "language-model":
        return {}
    return {f"earlier {name}": digest for name, digest in manifest.lineage.data.items()}


def earlier_sizes(parent: RunDirectory | None) -> dict[str, str]:
    """Return the sizes of the labelled data of a parent."""
    sizes = {} if parent is None else parent.manifest().lineage.sizes
    earlier = earlier_data(parent)
    named = {f"earlier {name}": size for name, size in sizes.items()}
    return {name: size for name, size in named.items() if name in earlier}


def trained_on(run: RunDirectory, hashes: Collection[str]) -> bool:
    """Whether a run was trained on a table with one of these hashes, auxiliary or not."""
    data = run.manifest().lineage.data
    return any(digest in hashes for name, digest in data.items() if name.split()[-1] != "valid")


def refuse_trained_on(runs: Sequence[RunDirectory], test: Collection[str]) -> None:
    """Raise an error if a run was trained or validated on a table with one of these hashes."""
    for run in runs:
        for one in lineage_of(run):
            known = [name for name, digest in one.manifest().lineage.data.items() if digest in test]
            if known:
                raise MismatchError(
                    f"{run.name} was trained on the test texts.",
                    expected="bases and feature runs that saw none of the test texts",
                    found=f"the same texts as its {known[0]} part"
                    + ("" if one is run else ", in one of its feature runs"),
                    hint="leave this run out, or test on other texts with --test FILE",
                )


def lineage_of(run: RunDirectory) -> Iterator[RunDirectory]:
    """Yield a run, its feature runs, and theirs."""
    yield run
    for inner in feature_runs_of(run):
        yield from lineage_of(inner)

"""Teachers of a stage: opened before the work, and what runs have learnt from already.

Only what runs record is known: a teacher of other texts that happen to be equal goes unnoticed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from greffe.baselines.features import CachedReader, Reader
from greffe.baselines.linear_runs import feature_runs_of, open_feature_run, run_hash
from greffe.errors import MismatchError
from greffe.progress import notice
from greffe.run import RunDirectory


class FeatureRuns:
    """Teachers of a study by their runs, each asked once about a text."""

    def __init__(self, runs: Sequence[RunDirectory] = ()) -> None:
        self.hashes = {run.path: run_hash(run.path) for run in runs}
        """Over all that each of them predicts with."""
        self._readers: dict[Path, Reader] = {}
        for run in runs:
            if run.path not in self._readers:
                feature_run = open_feature_run(run)
                self._readers[run.path] = CachedReader(feature_run.columns, feature_run.features)

    def readers(self, runs: Sequence[RunDirectory]) -> list[Reader]:
        """What asks these runs, in their order."""
        return [self._readers[run.path] for run in runs]


def warn_if_trained_on(feature_runs: Sequence[RunDirectory], training: Collection[str]) -> None:
    """A notice for each teacher that learnt from tables with these hashes."""
    for feature_run in feature_runs:
        if any(trained_on(run, training) for run in lineage_of(feature_run)):
            notice(
                f"{feature_run.name} learnt from these very training texts: the cross-validated "
                "accuracy flatters, and the model will trust it too much"
            )


def earlier_data(parent: RunDirectory) -> dict[str, str]:
    """Hashes of what a parent's classes were learnt from: whoever grows from it has seen it too."""
    manifest = parent.manifest()
    if manifest.kind == "language-model":
        return {}
    return {f"earlier {name}": digest for name, digest in manifest.lineage.data.items()}


def trained_on(run: RunDirectory, hashes: Collection[str]) -> bool:
    """Whether a run was fitted to a table with one of these hashes, its own or one of others."""
    data = run.manifest().lineage.data
    return any(digest in hashes for name, digest in data.items() if name.split()[-1] != "valid")


def refuse_trained_on(runs: Sequence[RunDirectory], test: Collection[str]) -> None:
    """An error if a run learnt from, or was chosen on, a table with one of these hashes."""
    for run in runs:
        for one in lineage_of(run):
            known = [name for name, digest in one.manifest().lineage.data.items() if digest in test]
            if known:
                raise MismatchError(
                    f"{run.name} knows the test texts: the study would measure its memory.",
                    expected="bases and teachers that saw none of the texts that arms are tested "
                    "on",
                    found=f"the same texts as its {known[0]} part"
                    + ("" if one is run else ", in a teacher of its own"),
                    hint="leave this run out, or test on other texts with --test FILE",
                )


def lineage_of(run: RunDirectory) -> Iterator[RunDirectory]:
    """A run, the teachers that it carries, and theirs."""
    yield run
    for inner in feature_runs_of(run):
        yield from lineage_of(inner)

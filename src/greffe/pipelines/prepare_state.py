"""The state of an unfinished corpus: what was requested, what is done, whether it may resume."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from greffe.config.recorded import Count
from greffe.config.spec import Spec
from greffe.data.corpus import PREPARE_FILE, CorpusRequest
from greffe.data.scan import Scan
from greffe.data.shards import ShardInfo
from greffe.errors import MismatchError
from greffe.storage import read_model, write_json


class PrepareState(Spec):
    """The content of prepare.json."""

    version: Literal[1] = 1
    request: CorpusRequest
    scan: Scan | None = None
    fingerprint: str | None = None
    groups: Count = 0
    """Groups of shards that are finished."""
    documents: Count = 0
    """Documents read for them."""
    bytes: Count = 0
    """UTF-8 bytes of these documents."""
    train: list[ShardInfo] = Field(default_factory=list)
    valid: list[ShardInfo] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check_progress(self) -> Self:
        """Check that what is done was scanned, and belongs to the requested sources."""
        if self.scan is None:
            if self.groups or self.documents or self.bytes or self.train or self.valid:
                raise ValueError("shards without a scan")
            return self
        if len(self.scan.sources) != len(self.request.sources):
            raise ValueError("scan.sources: another number than was requested")
        if self.documents > self.scan.documents or self.bytes > self.scan.bytes:
            raise ValueError("documents and bytes: more than were scanned")
        if max(len(self.train), len(self.valid)) > self.groups:
            raise ValueError("train and valid: more shards than groups")
        if self.train and self.fingerprint is None:
            raise ValueError("train: shards without a tokenizer")
        return self


def write_state(state: PrepareState, folder: Path) -> None:
    """Write the state; it marks the folder as an unfinished corpus."""
    write_json(folder / PREPARE_FILE, state.model_dump(mode="json"))


def read_state(folder: Path) -> PrepareState:
    """Return the state of an unfinished corpus."""
    return read_model(
        PrepareState,
        folder / PREPARE_FILE,
        "the state of an unfinished corpus",
        hint="start again with --overwrite",
    )


def check_request(before: CorpusRequest, now: CorpusRequest, folder: Path) -> None:
    """Raise a MismatchError that says what changed, if anything did."""
    old, new = before.model_dump(exclude={"sources"}), now.model_dump(exclude={"sources"})
    changes = [f"{name} was {old[name]}, is {new[name]}" for name in new if old[name] != new[name]]
    gone = [source for source in before.sources if source not in now.sources]
    come = [source for source in now.sources if source not in before.sources]
    changes += [f"no longer there: {source}" for source in gone]
    changes += [f"new: {source}" for source in come]
    if before.sources != now.sources and not gone and not come:
        changes.append("the order or number of the sources")
    if changes:
        raise MismatchError(
            f"{folder} was started with other inputs or options.",
            expected="the same command as before, to resume it",
            found="; ".join(changes),
            hint="start again with --overwrite",
        )

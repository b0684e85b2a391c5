"""Corpus: a folder of token shards with its manifest and tokenizer.

corpus.json        the manifest: contents, sources and the hash of every file
tokenizer.json     the tokenizer of its tokens
train-00000.*      shards of the training split
valid-00000.*      shards of the validation split
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from greffe.config.recorded import LARGEST_COUNT, Count
from greffe.config.spec import Spec
from greffe.data.shards import ShardInfo, TokenSplit, check_shard, offsets_path, tokens_path
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, MismatchError, RunError
from greffe.progress import Progress
from greffe.run import TOKENIZER_FILE
from greffe.storage import file_hash, read_model, write_json

CORPUS_FILE = "corpus.json"
PREPARE_FILE = "prepare.json"  # the state of an unfinished corpus


class CorpusRequest(Spec):
    """Everything that determines the content of a corpus."""

    sources: list[dict[str, Any]]
    options: dict[str, Any]
    valid: float = Field(ge=0, lt=1)
    seed: int
    tokenizer: str
    """Fingerprint of a given tokenizer, or a description of the one to train."""
    shard_bytes: int = Field(ge=1, le=LARGEST_COUNT)


class CorpusManifest(Spec):
    """The content of corpus.json."""

    version: Literal[1] = 1
    fingerprint: str
    dtype: Literal["uint16", "uint32"]
    train: list[ShardInfo] = Field(min_length=1)
    valid: list[ShardInfo]
    documents: Count
    """Documents kept, in both splits."""
    duplicates: Count
    """Documents dropped as copies of an earlier one."""
    bytes: Count
    """UTF-8 bytes of the documents kept."""
    request: CorpusRequest
    data_hash: str
    """SHA-256 over the hashes of all shards; identifies the data."""

    @model_validator(mode="after")
    def _check_totals(self) -> Self:
        shards = [*self.train, *self.valid]
        if len({shard.name for shard in shards}) != len(shards):
            raise ValueError("train and valid: a shard occurs twice")
        for name, total in (("documents", self.documents), ("bytes", self.bytes)):
            found = sum(getattr(shard, name) for shard in shards)
            if found != total:
                raise ValueError(f"{name}: {total:,}, but the shards have {found:,}")
        if self.data_hash != _data_hash(shards):
            raise ValueError("data_hash: not the hash of these shards")
        return self

    @property
    def tokens(self) -> int:
        """Tokens in both splits."""
        return sum(shard.tokens for shard in (*self.train, *self.valid))


def make_manifest(
    train: list[ShardInfo],
    valid: list[ShardInfo],
    tokenizer: Tokenizer,
    request: CorpusRequest,
    duplicates: int,
) -> CorpusManifest:
    """Return the manifest of finished shards."""
    shards = [*train, *valid]
    return CorpusManifest(
        fingerprint=tokenizer.fingerprint,
        dtype="uint16" if tokenizer.dtype.itemsize == 2 else "uint32",
        train=train,
        valid=valid,
        documents=sum(shard.documents for shard in shards),
        duplicates=duplicates,
        bytes=sum(shard.bytes for shard in shards),
        request=request,
        data_hash=_data_hash(shards),
    )


def _data_hash(shards: Sequence[ShardInfo]) -> str:
    hashes = "".join(shard.tokens_sha256 + shard.offsets_sha256 for shard in shards)
    return hashlib.sha256(hashes.encode("utf-8", "surrogatepass")).hexdigest()


def read_manifest(folder: Path) -> CorpusManifest:
    """Read the manifest of a corpus; raise CorruptError if it is invalid."""
    return read_model(
        CorpusManifest,
        folder / CORPUS_FILE,
        "the corpus's manifest",
        hint="prepare the corpus again with --overwrite",
    )


def write_manifest(folder: Path, manifest: CorpusManifest) -> None:
    """Write the manifest, which marks the folder as a finished corpus."""
    write_json(folder / CORPUS_FILE, manifest.model_dump(mode="json"))


def is_corpus(path: str | Path) -> bool:
    """Return whether the path is a finished corpus."""
    return (Path(path) / CORPUS_FILE).is_file()


class Corpus:
    """A prepared corpus: manifest, tokenizer and the two splits."""

    def __init__(self, path: Path, manifest: CorpusManifest, tokenizer: Tokenizer) -> None:
        self.path = path
        self.manifest = manifest
        self.tokenizer = tokenizer
        dtype, pad, vocab = manifest.dtype, tokenizer.pad, tokenizer.size
        self.train = TokenSplit(path, manifest.train, dtype, pad=pad, vocab=vocab)
        self.valid = TokenSplit(path, manifest.valid, dtype, pad=pad, vocab=vocab)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open the corpus at `path`; check that every file exists and has the right size."""
        folder = Path(path)
        if not is_corpus(folder):
            unfinished = (folder / PREPARE_FILE).is_file()
            raise RunError(
                f"{path} is {'an unfinished' if unfinished else 'not a'} corpus.",
                expected=f"a folder with {CORPUS_FILE}",
                found="a folder or file without it" if folder.exists() else "nothing",
                hint=f"greffe prepare … --out {path}{' --resume' if unfinished else ''}",
            )
        manifest = read_manifest(folder)
        tokenizer = Tokenizer.load(folder / TOKENIZER_FILE)
        if tokenizer.fingerprint != manifest.fingerprint:
            raise MismatchError(
                f"{folder / TOKENIZER_FILE} is not the tokenizer of this corpus.",
                expected=f"tokenizer {manifest.fingerprint}",
                found=f"tokenizer {tokenizer.fingerprint}",
                hint="restore the original file, or prepare the corpus again with --overwrite",
            )
        if tokenizer.dtype.name != manifest.dtype:
            raise CorruptError(
                f"{folder / CORPUS_FILE} is damaged.",
                expected=f"tokens of type {tokenizer.dtype.name}, as its tokenizer has them",
                found=manifest.dtype,
                hint="prepare the corpus again with --overwrite",
            )
        for shard in (*manifest.train, *manifest.valid):
            check_shard(folder, shard, manifest.dtype)
        return cls(folder, manifest, tokenizer)

    def verify(self) -> None:
        """Check the hash of every shard, which reads all data."""
        hashes = {
            path: expected
            for shard in (*self.manifest.train, *self.manifest.valid)
            for path, expected in (
                (tokens_path(self.path, shard.name), shard.tokens_sha256),
                (offsets_path(self.path, shard.name), shard.offsets_sha256),
            )
        }
        with Progress("verify", sum(path.stat().st_size for path in hashes), "bytes") as progress:
            for path, expected in hashes.items():
                found = file_hash(path)
                if found != expected:
                    raise CorruptError(
                        f"{path} is damaged.",
                        expected=f"content with SHA-256 {expected}",
                        found=f"SHA-256 {found}",
                        hint="prepare the corpus again with --overwrite",
                    )
                progress.advance(path.stat().st_size)

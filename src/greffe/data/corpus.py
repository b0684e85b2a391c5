"""Corpus: a folder of shards with its manifest and tokenizer, opened strictly. Knows no torch.

corpus.json        what it holds, from which sources, with the hash of every file
tokenizer.json     the vocabulary its tokens were made with
train-00000.*      shards of the training part
valid-00000.*      shards of the held-out part
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ValidationError

from greffe.config.spec import Spec
from greffe.data.shards import ShardInfo, TokenSplit, check_shard, offsets_path, tokens_path
from greffe.data.tokenizer import Tokenizer
from greffe.errors import CorruptError, MismatchError, RunError
from greffe.progress import Progress
from greffe.run import TOKENIZER_FILE
from greffe.storage import file_hash, read_json, write_json

CORPUS_FILE = "corpus.json"
PREPARE_FILE = "prepare.json"  # the state of a corpus that is not finished


class CorpusRequest(Spec):
    """Everything that decides what a corpus holds."""

    sources: list[dict[str, Any]]
    options: dict[str, Any]
    valid: float
    seed: int
    tokenizer: str
    """Fingerprint of a given tokenizer, or what to train."""
    shard_bytes: int


class CorpusManifest(Spec):
    """The content of corpus.json."""

    version: Literal[1] = 1
    fingerprint: str
    dtype: Literal["uint16", "uint32"]
    train: list[ShardInfo]
    valid: list[ShardInfo]
    documents: int
    """Documents kept, in both parts."""
    duplicates: int
    """Documents dropped because an equal one came before."""
    bytes: int
    """UTF-8 bytes of the documents kept."""
    request: CorpusRequest
    data_hash: str
    """SHA-256 over the hashes of all shards: equal hashes, equal data."""

    @property
    def tokens(self) -> int:
        """Tokens in both parts."""
        return sum(shard.tokens for shard in (*self.train, *self.valid))


def make_manifest(
    train: list[ShardInfo],
    valid: list[ShardInfo],
    tokenizer: Tokenizer,
    request: CorpusRequest,
    duplicates: int,
) -> CorpusManifest:
    """The manifest of finished shards."""
    shards = [*train, *valid]
    hashes = "".join(shard.tokens_sha256 + shard.offsets_sha256 for shard in shards)
    return CorpusManifest(
        fingerprint=tokenizer.fingerprint,
        dtype="uint16" if tokenizer.dtype.itemsize == 2 else "uint32",
        train=train,
        valid=valid,
        documents=sum(shard.documents for shard in shards),
        duplicates=duplicates,
        bytes=sum(shard.bytes for shard in shards),
        request=request,
        data_hash=hashlib.sha256(hashes.encode()).hexdigest(),
    )


def read_manifest(folder: Path) -> CorpusManifest:
    """The manifest of a corpus, or a CorruptError that says what is wrong with it."""
    path = folder / CORPUS_FILE
    try:
        return CorpusManifest.model_validate(read_json(path, "the corpus's manifest"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise CorruptError(
            f"{path} is damaged or from another version.",
            expected="a manifest of version 1",
            found=f"{'.'.join(map(str, first['loc']))}: {first['msg']}",
            hint="prepare the corpus again with --overwrite",
        ) from None


def write_manifest(folder: Path, manifest: CorpusManifest) -> None:
    """Say what the folder holds; its presence makes the folder a corpus."""
    write_json(folder / CORPUS_FILE, manifest.model_dump(mode="json"))


def is_corpus(path: str | Path) -> bool:
    """Whether a finished corpus is there."""
    return (Path(path) / CORPUS_FILE).is_file()


class Corpus:
    """A prepared corpus: manifest, tokenizer and the two parts."""

    def __init__(self, path: Path, manifest: CorpusManifest, tokenizer: Tokenizer) -> None:
        self.path = path
        self.manifest = manifest
        self.tokenizer = tokenizer
        self.train = TokenSplit(path, manifest.train, manifest.dtype, tokenizer.pad)
        self.valid = TokenSplit(path, manifest.valid, manifest.dtype, tokenizer.pad)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """The corpus at `path`, with every file there and of the right size."""
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
                f"{folder / TOKENIZER_FILE} is not the tokenizer this corpus was made with.",
                expected=f"tokenizer {manifest.fingerprint}",
                found=f"tokenizer {tokenizer.fingerprint}",
                hint="put the right file back, or prepare the corpus again with --overwrite",
            )
        for shard in (*manifest.train, *manifest.valid):
            check_shard(folder, shard, manifest.dtype)
        return cls(folder, manifest, tokenizer)

    def verify(self) -> None:
        """Read every shard and compare its hash with the manifest: slow, and certain."""
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

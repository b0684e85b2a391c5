"""Prepare: text → a corpus of token shards, in three phases that can each resume.

1. scan: which documents there are, which are duplicates, which are held out;
2. tokenizer: the one given, or one trained on a sample;
3. encode: shards, in parallel, a group at a time.

`prepare.json` holds the state while the corpus is unfinished. Knows nothing of models or training.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from greffe.config.bounds import FractionBelowOne, Processes, Seed, check_number
from greffe.config.options import Output, Reading, TokenizerOptions
from greffe.config.recipe import Recipe
from greffe.config.sections import TokenizerSpec
from greffe.data.corpus import (
    CORPUS_FILE,
    PREPARE_FILE,
    Corpus,
    CorpusRequest,
    is_corpus,
    make_manifest,
    read_manifest,
    write_manifest,
)
from greffe.data.encoding import CHUNK_BYTES, Written, cut_chunks, write_shards
from greffe.data.native_tokenizer import check_vocab, import_sentencepiece, train_tokenizer
from greffe.data.pieces import LOWERCASE, Step, canonical
from greffe.data.scan import ASSIGNMENTS_FILE, Scan, read_again, read_sample, scan_documents
from greffe.data.shards import check_shard
from greffe.data.text import check_readable, find_sources, source_identity
from greffe.data.tokenizer import Tokenizer
from greffe.errors import (
    CorruptError,
    DataError,
    InputError,
    InterruptedRunError,
    MismatchError,
    RecipeError,
)
from greffe.machine import cores
from greffe.output_folder import OutputFolder
from greffe.pipelines.prepare_state import PrepareState, check_request, read_state, write_state
from greffe.progress import Progress, format_count, notice
from greffe.run import TOKENIZER_FILE, or_a_shipped_base, run_path
from greffe.storage import disk_error

SHARD_BYTES = 64 << 20  # of text
SAMPLE_BYTES = 64 << 20  # of text, for training a tokenizer
SCAN_FOLDER = "scan"


def prepare(
    inputs: str | Path | Sequence[str | Path],
    output: Output,
    *,
    tokenizer_options: TokenizerOptions = TokenizerOptions(),
    like: Tokenizer | None = None,
    reading: Reading = Reading(),
    valid: float = 0.01,
    workers: int = 0,
    seed: int = 0,
) -> Corpus:
    """Write the corpus of `inputs` to a folder and open it.

    A newly trained tokenizer changes characters as `like` does. `valid` is the fraction of
    documents held out. `workers=0` uses all cores.
    """
    check_number("workers", workers, Processes, example="--workers 4, or 0 for all cores")
    plan = plan_corpus(
        inputs,
        tokenizer_options=tokenizer_options,
        like=like,
        reading=reading,
        valid=valid,
        seed=seed,
    )
    return write_corpus(plan, output, workers=workers)


@dataclass(frozen=True)
class CorpusPlan:
    """What a corpus is made of; everything that can be known before it is read is checked."""

    sources: list[str]
    reading: Reading
    choice: _TokenizerChoice
    request: CorpusRequest

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer, unless a new one is trained."""
        return self.choice.given


def plan_corpus(
    inputs: str | Path | Sequence[str | Path],
    *,
    tokenizer_options: TokenizerOptions,
    like: Tokenizer | None,
    reading: Reading,
    valid: float,
    seed: int,
) -> CorpusPlan:
    """Check the arguments of `prepare` and the beginning of each source."""
    check_number("fraction to hold out", valid, FractionBelowOne, example="--valid 0.01")
    check_number("seed", seed, Seed, example="seed=1")
    sources = find_sources([inputs] if isinstance(inputs, str | Path) else inputs)
    choice = _choose_tokenizer(tokenizer_options, like)
    check_readable(sources, reading)
    request = CorpusRequest(
        sources=[source_identity(source) for source in sources],
        options=asdict(reading),
        valid=valid,
        seed=seed,
        tokenizer=choice.description,
        shard_bytes=SHARD_BYTES,
    )
    return CorpusPlan(sources, reading, choice, request)


def write_corpus(plan: CorpusPlan, output: Output, *, workers: int = 0) -> Corpus:
    """Write a corpus as planned, or resume it, and open it."""
    with OutputFolder(
        output.out,
        markers=(CORPUS_FILE, PREPARE_FILE),
        overwrite=output.overwrite,
        resume=output.resume,
        sources=plan.sources,
    ) as folder:
        if folder.resuming and is_corpus(folder.path):
            check_request(read_manifest(folder.path).request, plan.request, folder.path)
            notice(f"{folder.path} is already finished")
            _remove_state(folder.path)
            return Corpus.open(folder.path)
        folder.begin()
        work = _Preparation(folder, plan)
        try:
            scan = work.scan()
            tokenizer = work.tokenizer(plan.choice, scan)
            work.encode(tokenizer, scan, workers or cores())
            return work.finish(tokenizer, scan)
        except InputError:
            work.discard_if_empty()
            raise
        except KeyboardInterrupt:
            raise InterruptedRunError(
                f"Stopped; {folder.path} is unfinished and its finished shards are kept.",
                hint="continue with the same command and --resume",
            ) from None


@dataclass(frozen=True)
class _TokenizerChoice:
    """The tokenizer that was given, or how a new one is trained."""

    given: Tokenizer | None
    spec: TokenizerSpec
    character_steps: Sequence[Step]

    @property
    def description(self) -> str:
        """What tells this choice from another."""
        if self.given is not None:
            return self.given.fingerprint
        after = f" after {canonical(self.character_steps)}" if self.character_steps else ""
        return f"{self.spec.kind} of {self.spec.vocab:,} pieces{after}"


def _choose_tokenizer(options: TokenizerOptions, like: Tokenizer | None) -> _TokenizerChoice:
    given = find_tokenizer(options)
    if given is not None and options.lowercase:
        raise RecipeError(
            "--lowercase and --tokenizer are mutually exclusive.",
            expected="--lowercase with a newly trained tokenizer",
            hint="leave out one of the two",
        )
    steps = character_steps(like, lowercase=options.lowercase)
    changes = [f"tokenizer.kind={options.tokenizer_kind}"]
    changes += [] if options.vocab is None else [f"tokenizer.vocab={options.vocab}"]
    spec = Recipe().with_changes(changes).tokenizer
    if given is None:
        check_vocab(spec)
    return _TokenizerChoice(given, spec, steps)


def character_steps(like: Tokenizer | None, *, lowercase: bool) -> list[Step]:
    """Return how a new tokenizer changes characters: as `like` does, and lowercase if asked."""
    steps = [] if like is None else like.character_steps
    return [LOWERCASE, *steps] if lowercase and LOWERCASE not in steps else steps


def find_tokenizer(options: TokenizerOptions) -> Tokenizer | None:
    """Return the tokenizer that is given, by path or by name; None if one is to be trained."""
    tokenizer, dictionary = options.tokenizer, options.dictionary
    path = run_path(tokenizer) if isinstance(tokenizer, str | Path) else None
    if dictionary is not None and (path is None or path.suffix != ".model"):
        raise RecipeError(
            "--dictionary needs a SentencePiece model.",
            expected="--tokenizer with a file that ends in .model",
            found="no file" if path is None else str(path),
        )
    if path is None:
        assert not isinstance(tokenizer, str | Path)
        return tokenizer
    file = path / TOKENIZER_FILE if path.is_dir() else path
    if not file.is_file():
        raise DataError(
            f"There is no tokenizer at {path}.",
            expected=f"a {TOKENIZER_FILE}, a folder that holds one, a SentencePiece .model"
            + or_a_shipped_base(),
            found="a folder without it" if path.is_dir() else "nothing",
        )
    if file.suffix == ".model":
        return import_sentencepiece(file, None if dictionary is None else Path(dictionary))
    return Tokenizer.load(file)


def _remove_state(folder: Path) -> None:
    shutil.rmtree(folder / SCAN_FOLDER, ignore_errors=True)
    (folder / PREPARE_FILE).unlink(missing_ok=True)


class _Preparation:
    """The phases on one folder; each skips what was done before."""

    def __init__(self, folder: OutputFolder, plan: CorpusPlan) -> None:
        self.path = folder.path
        self.sources = plan.sources
        self.reading = plan.reading
        # Without its state, a preparation was killed before it had begun.
        if folder.resuming and (self.path / PREPARE_FILE).exists():
            self.state = read_state(self.path)
            check_request(self.state.request, plan.request, self.path)
        else:
            self._advance(PrepareState(request=plan.request))

    def scan(self) -> Scan:
        """Assign every document to a split."""
        folder, request = self.path / SCAN_FOLDER, self.state.request
        if self.state.scan is None:
            self._remove_earlier_scan(folder)
            scan = scan_documents(
                self.sources, self.reading, folder, valid=request.valid, seed=request.seed
            )
            self._advance(self.state, scan=scan)
            return scan
        assignments = folder / ASSIGNMENTS_FILE
        if not assignments.is_file() or assignments.stat().st_size != self.state.scan.documents:
            raise CorruptError(
                f"{assignments} is missing or damaged.",
                expected=f"{self.state.scan.documents:,} bytes",
                hint="start again with --overwrite",
            )
        return self.state.scan

    def _remove_earlier_scan(self, folder: Path) -> None:
        """Remove what a scan that was killed has left, or raise: a scan appends to its files."""
        try:
            if folder.exists():
                shutil.rmtree(folder)
        except OSError as error:
            raise disk_error(error, folder) from error

    def tokenizer(self, choice: _TokenizerChoice, scan: Scan) -> Tokenizer:
        """Return the tokenizer of the corpus, saved in its folder."""
        path = self.path / TOKENIZER_FILE
        if self.state.fingerprint is None:
            tokenizer = choice.given or self._train(choice, scan)
            tokenizer.save(path)
            self._advance(self.state, fingerprint=tokenizer.fingerprint)
            return tokenizer
        tokenizer = Tokenizer.load(path)
        if tokenizer.fingerprint != self.state.fingerprint:
            raise MismatchError(
                f"{path} is not the tokenizer that this corpus was started with.",
                expected=f"tokenizer {self.state.fingerprint}",
                found=f"tokenizer {tokenizer.fingerprint}",
                hint="start again with --overwrite",
            )
        return tokenizer

    def _train(self, choice: _TokenizerChoice, scan: Scan) -> Tokenizer:
        size, seed = min(SAMPLE_BYTES, scan.bytes), self.state.request.seed
        folder = self.path / SCAN_FOLDER
        with Progress("tokenizer", size, "bytes") as progress:

            def sample() -> Iterator[str]:
                for document in read_sample(
                    self.sources, self.reading, scan, folder, size=SAMPLE_BYTES, seed=seed
                ):
                    progress.advance(len(document.encode()))
                    yield document
                progress.set(size)

            return train_tokenizer(sample(), choice.spec, choice.character_steps)

    def encode(self, tokenizer: Tokenizer, scan: Scan, workers: int) -> None:
        """Write the shards that are missing."""
        for shard in (*self.state.train, *self.state.valid):
            check_shard(self.path, shard, tokenizer.dtype.name)
        start, read = self.state.documents, self.state.bytes
        documents = read_again(self.sources, self.reading, scan, self.path / SCAN_FOLDER, start)
        chunks = cut_chunks(documents, start, self.state.request.shard_bytes)
        # starting a process takes longer than encoding a chunk
        workers = max(1, min(workers, (scan.bytes - read) // CHUNK_BYTES))
        group = self.state.groups
        with (
            Progress("encode", scan.bytes, "bytes", start=read) as progress,
            closing(write_shards(chunks, tokenizer, self.path, group, workers)) as finished,
        ):
            for written in finished:
                read += written.chunk.read_bytes
                progress.set(read)
                if written.chunk.closes:
                    self._add_group(written, read)

    def _add_group(self, written: Written, read: int) -> None:
        state = self.state
        self._advance(
            state,
            groups=state.groups + 1,
            documents=written.chunk.end,
            bytes=read,
            train=state.train + ([written.train] if written.train else []),
            valid=state.valid + ([written.valid] if written.valid else []),
        )

    def finish(self, tokenizer: Tokenizer, scan: Scan) -> Corpus:
        """Make the folder a corpus."""
        kept = sum(shard.documents for shard in (*self.state.train, *self.state.valid))
        if kept != scan.unique:
            raise CorruptError(
                f"{self.path / SCAN_FOLDER / ASSIGNMENTS_FILE} is damaged.",
                expected=f"{scan.unique:,} documents to keep",
                found=f"{kept:,}",
                hint="start again with --overwrite",
            )
        manifest = make_manifest(
            self.state.train,
            self.state.valid,
            tokenizer,
            self.state.request,
            duplicates=scan.documents - scan.unique,
        )
        write_manifest(self.path, manifest)
        _remove_state(self.path)
        notice(
            f"corpus written to {self.path}: {manifest.documents:,} documents "
            f"({scan.valid:,} held out, {manifest.duplicates:,} duplicates dropped),\n"
            f"  {format_count(manifest.tokens)} tokens of {tokenizer.size:,} pieces, "
            f"{manifest.bytes / manifest.tokens:.2f} bytes per token"
        )
        return Corpus.open(self.path)

    def discard_if_empty(self) -> None:
        """Remove the state if no shard is finished, so that the corrected command just works."""
        if self.state.groups == 0:
            _remove_state(self.path)
            (self.path / TOKENIZER_FILE).unlink(missing_ok=True)

    def _advance(self, state: PrepareState, **changes: Any) -> None:
        self.state = state.model_copy(update=changes)
        write_state(self.state, self.path)

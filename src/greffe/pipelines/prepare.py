"""Prepare: text → a corpus of token shards, in three phases that can each be resumed.

1. scan: which documents there are, which are duplicates, which are held out;
2. tokenizer: the one given, or one trained on a sample;
3. encode: shards, in parallel, a group at a time.

`prepare.json` holds the state while the corpus is unfinished. Knows nothing of models or training.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from greffe.config.options import Reading
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
from greffe.data.pieces import LOWERCASE, Step, canonical
from greffe.data.scan import ASSIGNMENTS_FILE, Scan, read_again, read_sample, scan_documents
from greffe.data.shards import check_shard
from greffe.data.text import find_sources, source_identity
from greffe.data.tokenizer import Tokenizer, import_sentencepiece, train_tokenizer
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

SHARD_BYTES = 64 << 20  # of text
SAMPLE_BYTES = 64 << 20  # of text, for training a tokenizer
SCAN_FOLDER = "scan"


def prepare(
    inputs: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    recipe_tokenizer: TokenizerSpec | None = None,
    tokenizer: str | Path | Tokenizer | None = None,
    dictionary: str | Path | None = None,
    lowercase: bool = False,
    like: Tokenizer | None = None,
    valid: float = 0.01,
    options: Reading | None = None,
    workers: int = 0,
    seed: int = 0,
    overwrite: bool = False,
    resume: bool = False,
) -> Corpus:
    """Write the corpus of `inputs` to the folder `out` and open it.

    `tokenizer` is a Tokenizer, a tokenizer.json, a folder that holds one, a shipped base's name, or
    a SentencePiece .model, for which `dictionary` may be its dict.txt; without it one is trained to
    `recipe_tokenizer`, which reads small letters if `lowercase`, and changes single letters as
    another does (`like`). `valid` is the share of documents held out. `workers=0` uses all cores.
    """
    _check_numbers(valid, workers)
    options = options or Reading()
    sources = find_sources([inputs] if isinstance(inputs, str | Path) else inputs)
    given = find_tokenizer(tokenizer, dictionary)
    if given is not None and lowercase:
        raise RecipeError(
            "--lowercase is for a new tokenizer: the one that is given reads as it does.",
            hint="leave out one of the two",
        )
    letters = letters_of(like, lowercase=lowercase)
    spec = recipe_tokenizer or TokenizerSpec()
    request = CorpusRequest(
        sources=[source_identity(source) for source in sources],
        options=asdict(options),
        valid=valid,
        seed=seed,
        tokenizer=given.fingerprint if given else _describe(spec, letters),
        shard_bytes=SHARD_BYTES,
    )
    markers = (CORPUS_FILE, PREPARE_FILE)
    with OutputFolder(out, markers=markers, overwrite=overwrite, resume=resume) as folder:
        if folder.resuming and is_corpus(folder.path):
            check_request(read_manifest(folder.path).request, request, folder.path)
            notice(f"{folder.path} is already finished")
            _remove_state(folder.path)
            return Corpus.open(folder.path)
        work = _Preparation(folder, sources, options, request)
        try:
            scan = work.scan()
            used = work.tokenizer(given, spec, letters, scan)
            work.encode(used, scan, workers or cores())
            return work.finish(used, scan)
        except InputError:
            work.forget_if_fruitless()
            raise
        except KeyboardInterrupt:
            raise InterruptedRunError(
                f"Stopped; {folder.path} is unfinished and its finished shards are kept.",
                hint="the same command with --resume goes on",
            ) from None


def letters_of(like: Tokenizer | None, *, lowercase: bool) -> list[Step]:
    """What a new tokenizer does to single letters: what another does, and small ones if asked."""
    letters = [] if like is None else like.character_steps
    return [LOWERCASE, *letters] if lowercase and LOWERCASE not in letters else letters


def _describe(spec: TokenizerSpec, letters: Sequence[Step]) -> str:
    after = f" after {canonical(letters)}" if letters else ""
    return f"{spec.kind} of {spec.vocab:,} pieces{after}"


def _check_numbers(valid: float, workers: int) -> None:
    if not 0 <= valid < 1:
        raise RecipeError(
            f"{valid} is not a share of documents to hold out.",
            expected="a number from 0 to below 1, for example 0.01",
        )
    if workers < 0:
        raise RecipeError(
            f"{workers} is not a number of workers.", expected="1 or more, or 0 for all cores"
        )


def find_tokenizer(
    tokenizer: str | Path | Tokenizer | None, dictionary: str | Path | None
) -> Tokenizer | None:
    """The one that is given, at this path or of a shipped base; None: one is to be trained."""
    path = run_path(tokenizer) if isinstance(tokenizer, str | Path) else None
    if dictionary is not None and (path is None or path.suffix != ".model"):
        raise RecipeError(
            "A dictionary goes with a SentencePiece model only.",
            expected="a tokenizer that ends in .model",
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
    """The phases on one folder, each of which leaves out what was done before."""

    def __init__(
        self,
        folder: OutputFolder,
        sources: Sequence[str],
        options: Reading,
        request: CorpusRequest,
    ) -> None:
        self.path = folder.path
        self.sources = sources
        self.options = options
        for leftover in self.path.glob(".*.tmp"):  # of a write that was killed
            leftover.unlink()
        if folder.resuming:
            self.state = read_state(self.path)
            check_request(self.state.request, request, self.path)
        else:
            self._advance(PrepareState(request=request))

    def scan(self) -> Scan:
        """Assign every document to a split."""
        folder, request = self.path / SCAN_FOLDER, self.state.request
        if self.state.scan is None:
            shutil.rmtree(folder, ignore_errors=True)
            scan = scan_documents(
                self.sources, self.options, folder, valid=request.valid, seed=request.seed
            )
            self._advance(self.state, scan=scan)
            return scan
        assignments = folder / ASSIGNMENTS_FILE
        if not assignments.is_file() or assignments.stat().st_size != self.state.scan.documents:
            raise CorruptError(
                f"{assignments} is missing or damaged.",
                expected=f"{self.state.scan.documents:,} bytes",
                hint="start anew with --overwrite",
            )
        return self.state.scan

    def tokenizer(
        self,
        given: Tokenizer | None,
        spec: TokenizerSpec,
        letters: Sequence[Step],
        scan: Scan,
    ) -> Tokenizer:
        """The tokenizer of the corpus, saved in its folder."""
        path = self.path / TOKENIZER_FILE
        if self.state.fingerprint is None:
            tokenizer = given or self._train(spec, letters, scan)
            tokenizer.save(path)
            self._advance(self.state, fingerprint=tokenizer.fingerprint)
            return tokenizer
        tokenizer = Tokenizer.load(path)
        if tokenizer.fingerprint != self.state.fingerprint:
            raise MismatchError(
                f"{path} is not the tokenizer that this corpus was begun with.",
                expected=f"tokenizer {self.state.fingerprint}",
                found=f"tokenizer {tokenizer.fingerprint}",
                hint="--overwrite starts anew",
            )
        return tokenizer

    def _train(self, spec: TokenizerSpec, letters: Sequence[Step], scan: Scan) -> Tokenizer:
        size, seed = min(SAMPLE_BYTES, scan.bytes), self.state.request.seed
        folder = self.path / SCAN_FOLDER
        with Progress("tokenizer", size, "bytes") as progress:

            def sample() -> Iterator[str]:
                for document in read_sample(
                    self.sources, self.options, scan, folder, size=SAMPLE_BYTES, seed=seed
                ):
                    progress.advance(len(document.encode()))
                    yield document
                progress.set(size)

            return train_tokenizer(sample(), spec, letters)

    def encode(self, tokenizer: Tokenizer, scan: Scan, workers: int) -> None:
        """Write the shards that are not there yet."""
        for shard in (*self.state.train, *self.state.valid):
            check_shard(self.path, shard, tokenizer.dtype.name)
        start, read = self.state.documents, self.state.bytes
        documents = read_again(self.sources, self.options, scan, self.path / SCAN_FOLDER, start)
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
            f"{manifest.bytes / manifest.tokens:.2f} bytes a token"
        )
        return Corpus.open(self.path)

    def forget_if_fruitless(self) -> None:
        """Without a finished shard nothing is worth keeping: the corrected command just works."""
        if self.state.groups == 0:
            _remove_state(self.path)
            (self.path / TOKENIZER_FILE).unlink(missing_ok=True)

    def _advance(self, state: PrepareState, **changes: Any) -> None:
        self.state = state.model_copy(update=changes)
        write_state(self.state, self.path)

"""The valid files and runs that inputs are made from, as small as possible."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import multiprocessing
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest import mock

import pyarrow
import pyarrow.parquet
import sentencepiece
import zstandard

from greffe import api
from greffe.errors import InterruptedRunError
from greffe.progress import quiet
from greffe.samples.toy import toy_documents, toy_reviews
from greffe.study.folder import StudyDirectory
from greffe.training.interruption import Interruption
from tools.fuzz.foreign_tokenizers import write_foreign_tokenizers
from tools.fuzz.foreign_world import make_foreign

SMALL = (
    *("model.width=8", "model.layers=1", "model.heads=2", "model.feed_forward=16"),
    *("model.context=16", "train.threads=1", "train.batch=4", "train.evaluate_rows=4"),
    "train.compile=false",
)
"""Changes to the recipe tiny: a step takes a millisecond."""
UNFINISHED_BUDGET = "3steps"
STUDY_CHANGES = ("train.threads=1", "train.batch=8")
"""Changes to the fine-tunings of the study; resuming it needs the same."""


class _StopsAtOnce(Interruption):
    """An interruption that is requested from the beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.requested = True


@contextmanager
def world_folder() -> Iterator[Path]:
    """Make the world in a temporary folder, in memory where possible; inputs are read beside it."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        (world := Path(name) / "world").mkdir()
        # In a process of its own: this one must stay without threads, to be copied for each batch.
        maker = multiprocessing.get_context("fork").Process(target=make_world, args=(world,))
        maker.start()
        maker.join()
        assert maker.exitcode == 0, "the world could not be made"
        yield world


def make_world(folder: Path) -> None:
    """Write texts, tables, a corpus, runs of every kind and a study to the folder."""
    with quiet():
        _write_texts(folder)
        _write_tables(folder)
        _make_corpora(folder)
        _make_runs(folder)
        _make_study(folder)
        _make_tokenizers(folder)
        write_foreign_tokenizers(folder)
        make_foreign(folder)


def _write_texts(folder: Path) -> None:
    text = "\n".join(toy_documents(60, seed=0)) + "\n"
    (folder / "text.txt").write_text(text, "utf-8")


def _write_tables(folder: Path) -> None:
    """Write one table in every format and compression; train, valid and test as .tsv."""
    for name, count, seed in (("train", 12, 1), ("valid", 6, 2), ("test", 6, 3)):
        lines = (f"{label}\t{text}\n" for label, text in toy_reviews(count, seed=seed))
        (folder / f"{name}.tsv").write_text("".join(lines), "utf-8")
    rows = list(toy_reviews(8, seed=4))
    records = [{"label": label, "text": text, "id": n} for n, (label, text) in enumerate(rows)]
    delimited = io.StringIO()
    writer = csv.DictWriter(delimited, ["label", "text", "id"])
    writer.writeheader()
    writer.writerows(records)
    parquet = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), parquet)
    contents = {
        "csv": delimited.getvalue().encode(),
        "tsv": "".join(f"{label}\t{text}\n" for label, text in rows).encode(),
        "jsonl": "".join(json.dumps(record) + "\n" for record in records).encode(),
        "txt": "".join(f"{text}\n" for _, text in rows).encode(),
        "review.spm": "".join(f"▁{text.replace(' ', ' ▁')}\n" for _, text in rows).encode(),
        "parquet": parquet.getvalue(),
    }
    (folder / "tables").mkdir()
    (folder / "tables" / "table.label").write_text(
        "".join(f"{label}\n" for label, _ in rows), "utf-8"
    )
    for kind, content in contents.items():
        for suffix, packed in (
            ("", content),
            (".gz", gzip.compress(content, mtime=0)),
            (".xz", lzma.compress(content)),
            (".zst", zstandard.compress(content)),
        ):
            (folder / "tables" / f"table.{kind}{suffix}").write_bytes(packed)


def _make_corpora(folder: Path) -> None:
    """Make a corpus, and one that was interrupted before its manifest was written."""
    _prepare(folder, "corpus")
    stop = mock.patch("greffe.pipelines.prepare.write_manifest", side_effect=KeyboardInterrupt)
    with stop, suppress(InterruptedRunError):
        _prepare(folder, "unfinished_corpus")


def _prepare(folder: Path, out: str) -> None:
    api.prepare(folder / "text.txt", folder / out, vocab=300, valid=0.2, workers=1)


def _make_runs(folder: Path) -> None:
    """Make a base, a classifier, linear runs, an ensemble, and a base that was interrupted."""
    base = api.pretrain(
        folder / "corpus",
        folder / "base",
        recipe="tiny",
        objective="hybrid",
        budget="2steps",
        changes=SMALL,
    )
    classifier = api.finetune(
        base,
        data=folder / "train.tsv",
        valid=folder / "valid.tsv",
        out=folder / "classifier",
        budget="1steps",
        changes=["train.threads=1"],
    )
    linear = api.linear(data=folder / "train.tsv", out=folder / "linear", base=base)
    ensemble = api.ensemble([classifier, linear], out=folder / "ensemble")
    for run, name in ((classifier, ""), (linear, "-linear"), (ensemble, "-ensemble")):
        api.export(run, folder / f"exported{name}")
    with (
        mock.patch("greffe.pipelines.fit.Interruption", _StopsAtOnce),
        suppress(InterruptedRunError),
    ):
        api.pretrain(
            folder / "corpus",
            folder / "unfinished",
            recipe="tiny",
            objective="masked",
            budget=UNFINISHED_BUDGET,
            changes=SMALL,
        )


def _make_study(folder: Path) -> None:
    """Make a study, and the same one as if it had been interrupted at its end."""
    api.compare(
        folder / "base",
        data=folder / "train.tsv",
        valid=folder / "valid.tsv",
        test=folder / "test.tsv",
        out=folder / "study",
        seeds=2,
        budget="1steps",
        changes=STUDY_CHANGES,
    )
    shutil.copytree(folder / "study", folder / "unfinished_study")
    (folder / "unfinished_study" / "report.json").unlink()
    unfinished = StudyDirectory(folder / "unfinished_study")
    manifest = unfinished.manifest()
    unfinished.write_manifest(manifest.model_copy(update={"status": "running"}))


def _make_tokenizers(folder: Path) -> None:
    """Train one SentencePiece model of each kind, with its dictionary."""
    # The normalization rules of the second one take up most of its file.
    for kind, rules in (("bpe", "identity"), ("unigram", "nmt_nfkc")):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter((folder / "text.txt").read_text("utf-8").splitlines()),
            model_writer=model,
            vocab_size=80,
            model_type=kind,
            normalization_rule_name=rules,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        (folder / f"{kind}.model").write_bytes(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        pieces = [processor.id_to_piece(id) for id in range(3, processor.get_piece_size())]
        lines = "".join(f"{piece} {100 - n}\n" for n, piece in enumerate(pieces))
        (folder / f"{kind}.dict.txt").write_text(lines, "utf-8")

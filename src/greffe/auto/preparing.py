"""The base that `greffe fit` trains from: chosen, pretrained on text, taught auxiliary labels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from greffe.auto.cross_validate import Clock
from greffe.auto.document import Stage
from greffe.auto.models import training_seconds
from greffe.config.options import Output, Reading, Tables, TokenizerOptions, Training
from greffe.config.spans import Span
from greffe.data.tables import Example
from greffe.data.text import estimated_bytes, find_sources
from greffe.pipelines.finetune_recipe import Start
from greffe.pipelines.intermediate import finetune_intermediate, mix
from greffe.pipelines.pretrain import pretrain
from greffe.pipelines.sources import open_base
from greffe.progress import notice
from greffe.run import INTERMEDIATE, RUN_FILE, RunDirectory
from greffe.seeding import rng
from greffe.training.checkpoint import load_tokenizer

DEFAULT_BASE = "greffe-fr"
LEAST_BYTES_PER_TOKEN = 3.2
"""Of the labelled texts with the default base's tokenizer: below, they are in another language."""
SAMPLE = 500
PRETRAINING_FRACTION = 0.4
"""Of the budget, if there is text without labels."""
MOST_OF_THE_REST = 0.6
"""Of the time that is left when the pretraining begins."""
NEW_VOCAB = 24_000
LEAST_NEW_VOCAB_BYTES = 4_000_000
"""Of text: less does not show enough words for a vocabulary of its own."""
CONTINUED = ("train.lr=1e-3",)


def choose_bases(sources: Sequence[str | Path], examples: Sequence[Example]) -> list[RunDirectory]:
    """Return the given bases; by default the one that ships, if it knows the texts' language."""
    if sources:
        return [open_base(source) for source in sources]
    base = open_base(DEFAULT_BASE)
    texts = [example.text for example in examples[:SAMPLE]]
    tokens = sum(map(len, load_tokenizer(base).encode_all(texts)))
    size = sum(len(text.encode()) for text in texts)
    if size / max(tokens, 1) >= LEAST_BYTES_PER_TOKEN:
        return [base]
    notice(
        f"{DEFAULT_BASE} does not know the language of these texts "
        f"({size / max(tokens, 1):.1f} bytes per token); --base SOURCE names another base"
    )
    return []


def pretraining_seconds(out: Path, clock: Clock) -> float:
    """Return how long to pretrain; a pretraining is resumed with the time it was started with."""
    if (out / RUN_FILE).exists():
        return Span.parse(RunDirectory(out).recipe().train.budget).amount
    return min(PRETRAINING_FRACTION * clock.budget, MOST_OF_THE_REST * clock.left)


def pretrain_base(
    base: RunDirectory | None,
    unlabelled: Sequence[str | Path],
    out: Path,
    *,
    seconds: float,
    training: Training,
    reading: Reading,
    seed: int,
) -> tuple[RunDirectory, Stage]:
    """Continue a base on text without labels, with a vocabulary of that text if it is enough."""
    began = time.monotonic()
    size = estimated_bytes(find_sources(unlabelled))
    is_enough = size is None or size >= LEAST_NEW_VOCAB_BYTES
    transfers = base is not None and is_enough
    run = pretrain(
        list(unlabelled),
        Output(out=out, resume=True),
        parent=base,
        training=Training(
            budget=f"{max(seconds, 1.0):.0f}s",
            seed=seed,
            objective="masked" if base is not None else None,
            device=training.device,
            precision=training.precision,
            changes=CONTINUED if base is not None else (),
        ),
        tokenizer_options=TokenizerOptions(
            new_vocab=NEW_VOCAB if transfers else None, lowercase=transfers
        ),
        reading=Reading(documents=reading.documents, encoding=reading.encoding),
    )
    return run, Stage(name="pretraining", seconds=time.monotonic() - began, size=folder_size(run))


def auxiliary_seconds(base: RunDirectory, tables: Sequence[list[Example]]) -> float:
    """Return about how long one epoch of the auxiliary labels takes, after their balancing."""
    texts = [each.text for each in mix(tables, seed=0)]
    return training_seconds(base.recipe().model, texts, epochs=1)


def learn_auxiliary(
    base: RunDirectory,
    examples: list[Example],
    tables: Sequence[list[Example]],
    out: Path,
    *,
    seconds: float,
    training: Training,
    seed: int,
) -> tuple[RunDirectory, Stage]:
    """Fine-tune the base on auxiliary labels, one epoch; on fewer texts if time is short."""
    began = time.monotonic()
    needed = auxiliary_seconds(base, tables)
    if needed > seconds and not (out / INTERMEDIATE / RUN_FILE).exists():
        notice(f"auxiliary labels: {seconds / needed:.0%} of the texts, to fit into the time")
        tables = [_drawn(table, seconds / needed, seed) for table in tables]
    made = finetune_intermediate(
        Tables(data=examples, aux_data=tables),
        Output(out=out, resume=True),
        start=Start(parent=base),
        training=Training(
            seed=seed,
            jobs=training.jobs,
            device=training.device,
            precision=training.precision,
        ),
    )
    seconds = time.monotonic() - began
    return made.run, Stage(name="intermediate", seconds=seconds, size=folder_size(made.run))


def _drawn(table: list[Example], fraction: float, seed: int) -> list[Example]:
    """Return a part of a table, every text equally likely, in the table's order."""
    count = max(1, round(fraction * len(table)))
    drawn = rng(seed, "auxiliary").choice(len(table), count, replace=False)
    return [table[index] for index in sorted(drawn)]


def folder_size(run: RunDirectory) -> int:
    """Return the bytes of a run's own files, without those in its folders."""
    return sum(path.stat().st_size for path in run.path.iterdir() if path.is_file())

"""Estimated and measured memory of trainings: `python -m benchmarks.memory_estimate`.

Each configuration makes a few steps in a new process on synthetic rows. The measurement is its peak
resident memory, without what the process used before the model was built: that is what
`greffe.model.memory` estimates.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

from benchmarks.cases.lab_memory import peak_resident
from benchmarks.greffe_loop import ENDLESS, steps
from benchmarks.synthetic import Ids, tokenizer_of, whole_rows
from greffe.config.components import HeadSpec
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.sections import Classification, TrainSpec
from greffe.data.batches import Batch
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.memory import BatchShape, training_need
from greffe.model.model import build_model
from greffe.objectives.classification import ClassificationObjective
from greffe.objectives.objective import Objective, RowBatch, language_spec
from greffe.seeding import rng
from greffe.training.compute import set_up_compute
from greffe.training.device import choose_compute
from greffe.training.optim import build_optimizer
from greffe.training.schedule import Budget

STEPS = 3
DOCUMENT = 90
"""Tokens in a document of a packed row."""


@dataclass(frozen=True)
class Configuration:
    """A recipe with changes, pretrained or fine-tuned."""

    recipe: str
    changes: tuple[str, ...] = ()
    finetune: bool = False


BF16 = "train.precision=bf16"
CONFIGURATIONS = {
    "tiny": Configuration("tiny"),
    "small, masked": Configuration("small"),
    "small, causal": Configuration("small", ("objective.kind=causal",)),
    "small, hybrid": Configuration("small", ("objective.kind=hybrid",)),
    "small, next_sentence": Configuration("small", ("objective.kind=next_sentence",)),
    "small, batch 128": Configuration("small", ("train.batch=128",)),
    "small, batch 128 in 8 parts": Configuration(
        "small", ("train.batch=128", "train.accumulation=8")
    ),
    "small, context 2048": Configuration("small", ("model.context=2048", "train.batch=4")),
    "small, context 1024, alibi": Configuration(
        "small", ("model.context=1024", "train.batch=4", "model.position.kind=alibi")
    ),
    "small, dropout": Configuration("small", ("model.dropout=0.1",)),
    "width 768, 12 layers": Configuration(
        "small",
        ("model.width=768", "model.heads=12", "model.feed_forward=3072", "model.layers=12"),
    ),
    "lab, vocabulary 50,001": Configuration("lab"),
    "lab, batch 32": Configuration("lab", ("train.batch=32",)),
    "small, bf16": Configuration("small", (BF16,)),
    "small, causal, bf16": Configuration("small", ("objective.kind=causal", BF16)),
    "small, batch 128, bf16": Configuration("small", ("train.batch=128", BF16)),
    "small, context 2048, bf16": Configuration(
        "small", ("model.context=2048", "train.batch=4", BF16)
    ),
    "lab, batch 32, bf16": Configuration("lab", ("train.batch=32", BF16)),
    "fine-tuning small, bf16": Configuration("small", (BF16,), finetune=True),
    "fine-tuning small": Configuration("small", finetune=True),
    "fine-tuning, frozen base": Configuration("small", ("train.freeze=base",), finetune=True),
}


def main() -> None:
    """Measure every configuration in a process of its own, and print a table."""
    if len(sys.argv) > 1:
        print(json.dumps(measure(CONFIGURATIONS[sys.argv[1]])))
        return
    print("| training | estimate | measured | estimate / measured |\n| --- | --- | --- | --- |")
    for name in CONFIGURATIONS:
        command = [sys.executable, "-m", "benchmarks.memory_estimate", name]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)
        ratio = found["estimate"] / found["measured"]
        print(
            f"| {name} | {found['estimate'] / 1e6:,.0f} MB | {found['measured'] / 1e6:,.0f} MB "
            f"| {ratio:.2f} |",
            flush=True,
        )


def measure(configuration: Configuration) -> dict[str, int]:
    """Return estimate and measurement in bytes."""
    set_up_compute(1)
    changes = ("train.precision=fp32", *configuration.changes)
    recipe = load_recipe(configuration.recipe).with_changes(changes)
    tokenizer = tokenizer_of(recipe.tokenizer.vocab)
    make = _finetuning if configuration.finetune else _pretraining
    objective, heads, batches, shape = make(recipe, tokenizer)
    spec = recipe.train
    before = peak_resident()
    model = build_model(recipe.model, tokenizer.size, heads, recipe.seed)
    choose_compute("cpu", spec.precision, (), what="benchmark").place(model)
    optimizer = build_optimizer(model, spec, recipe.model.layers)
    budget = Budget.parse(ENDLESS, STEPS)
    loop = steps(model, objective, optimizer, lambda _: batches, spec, budget, recipe.seed)
    for _ in range(STEPS):
        next(loop)
    need = training_need(recipe.model, tokenizer.size, heads.values(), spec, shape)
    return {"estimate": need.total, "measured": peak_resident() - before}


Training = tuple[Objective, dict[str, HeadSpec], list[Batch], BatchShape]


def _pretraining(recipe: Recipe, tokenizer: Tokenizer) -> Training:
    language = language_spec(recipe.objective)
    objective = language.build(tokenizer, tied=recipe.model.tied)
    spec, context = recipe.train, recipe.model.context
    ids = whole_rows(recipe.seed, spec.batch, context, tokenizer)
    parts = np.array_split(np.arange(spec.batch), spec.accumulation)
    batches = [
        objective.prepare(
            RowBatch(
                packed=_packed(ids[part]),
                numbers=part,
                streams=[rng(recipe.seed, "benchmark", int(row)) for row in part],
                partners=_packed(ids[part][::-1].copy()),
            )
        )
        for part in parts
    ]
    shape = BatchShape(
        rows=spec.batch,
        parts=spec.accumulation,
        row_tokens=sum(batch.ids.numel() for batch in batches) / spec.batch,
        predicted=language.predicted_fraction,
        is_packed=any(batch.documents is not None for batch in batches)
        or any(part.documents is not None for batch in batches for part in batch.parts.values()),
    )
    return objective, objective.heads(), batches, shape


def _packed(ids: Ids) -> PackedRows:
    """Return rows of several documents in the form of greffe's corpus."""
    rows, length = ids.shape
    columns = np.tile(np.arange(length), (rows, 1))
    return PackedRows(
        ids=ids,
        lengths=np.full(rows, length, np.int64),
        documents=columns // DOCUMENT,
        positions=columns % DOCUMENT,
        first_document=np.arange(rows) * length,
    )


def _finetuning(recipe: Recipe, tokenizer: Tokenizer) -> Training:
    spec: TrainSpec = recipe.train
    head = ClassificationHead(classes=2)
    objective = ClassificationObjective(
        Classification(), [spec.batch, spec.batch], causal=False, pad=tokenizer.pad
    )
    rows = whole_rows(recipe.seed, spec.batch, recipe.model.context, tokenizer)
    batch = objective.prepare(list(rows), [number % 2 for number in range(spec.batch)])
    shape = BatchShape(rows=spec.batch, parts=1, row_tokens=recipe.model.context)
    return objective, {"classification": head}, [batch], shape


if __name__ == "__main__":
    main()

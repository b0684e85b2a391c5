"""Fine-tune: a base and labelled texts → a classifier. Or the same architecture from scratch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from greffe.config.components import Direction, HeadSpec
from greffe.config.options import Output, Reading, Tables, Training
from greffe.config.recipe import Recipe
from greffe.data.batches import Batch
from greffe.data.sampler import ExampleSampler
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.evaluation.metrics import evaluate_probabilities
from greffe.inference.predict import class_probabilities, split_windows
from greffe.model.arithmetic import matrix_products
from greffe.model.formulas import count_parameters
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.memory import BatchShape, require_training_memory
from greffe.model.model import Model, build_model
from greffe.model.weights import base_hash, head_hash, transfer
from greffe.objectives.classification import ClassificationObjective
from greffe.objectives.masking import Masker
from greffe.pipelines.computing import compute_of
from greffe.pipelines.finetune_recipe import (
    Start,
    build_masker,
    choose_direction,
    choose_pooler,
    choose_tokenizer,
    classification_of,
    directions_of,
    finetune_recipe,
)
from greffe.pipelines.fit import Evaluated, Task, finish, fit
from greffe.pipelines.labelled import (
    LabelledParts,
    LabelledRows,
    encode_rows,
    load_parts,
    table_paths,
)
from greffe.pipelines.provenance import earlier_data, earlier_sizes
from greffe.pipelines.run_folder import (
    begin_folder,
    begin_run,
    check_disk,
    check_same_data,
    check_same_recipe,
    check_same_stages,
    is_finished,
    run_folder,
)
from greffe.pipelines.soup import fit_soup, member_name, member_seed
from greffe.progress import notice
from greffe.run import INTERMEDIATE, RUN_FILE, Manifest, RunDirectory, new_lineage
from greffe.seeding import rng
from greffe.training.checkpoint import TrainingState, run_weights
from greffe.training.compute import set_up_compute
from greffe.training.distributed import World


def finetune(
    tables: Tables,
    output: Output,
    *,
    start: Start,
    training: Training = Training(),
    reading: Reading = Reading(),
    drawn_from: Mapping[str, str] | None = None,
    afterwards: Recipe | None = None,
) -> RunDirectory:
    """Train a classifier from `start` on labelled texts.

    `drawn_from` are hashes of the tables that the data is a part of; `afterwards` is the recipe
    for fine-tunings that start from this run, if it differs.
    """
    recipe = finetune_recipe(start, training, afterwards)
    world = World.join()
    threads = set_up_compute(recipe.train.threads)
    sources = [*table_paths(tables), *([start.model_of.path] if start.model_of else [])]
    with run_folder(output, world, sources) as folder:
        parts = load_parts(tables, reading, recipe.seed)
        data = {**parts.hashes, **(drawn_from or {}), **earlier_data(start.parent)}
        run = RunDirectory(folder.path)
        if folder.resuming:
            check_same_stages(run, aux_data=_follows_intermediate(run, start))
            if is_finished(run, recipe, world, data):
                return run
        tokenizer = choose_tokenizer(start.model_of, recipe, parts.train)
        recipe = recipe.with_vocab(tokenizer.size)
        if folder.resuming:
            check_same_recipe(run, recipe)
            check_same_data(run, data)
        directions = directions_of(start.model_of, training.recipe)
        design = _Design.of(recipe, parts.labels, directions)
        rows = encode_rows(parts, tokenizer, recipe.model.context, classification_of(recipe).long)
        _require_memory(recipe, design, world, [len(row) for row in rows.ids])
        heads = design.heads.values()
        check_disk(folder, count_parameters(recipe.model, tokenizer.size, heads))
        products = matrix_products(recipe.model, _part_tokens(recipe, world, rows))
        compute = compute_of(run, recipe.train, products, world, "fine-tune")
        exact = recipe.with_changes([f"train.precision={compute.precision}"])
        _require_memory(exact, design, world, [len(row) for row in rows.ids])
        model = build_model(recipe.model, tokenizer.size, design.heads, recipe.seed)
        parent_weights = _load_weights(model, design, start, show_tensors=training.show_tensors)
        world.broadcast_weights(model)  # a parent in training may change while the ranks read it
        begin_folder(folder, world)
        if world.is_main and not (run.path / RUN_FILE).exists():
            manifest = Manifest(
                kind="classifier",
                status="training",
                vocab=tokenizer.size,
                heads=design.heads,
                directions=directions,
                labels=parts.labels,
                direction=design.direction,
                lineage=new_lineage(
                    threads=threads,
                    device=compute.device.type,
                    precision=compute.precision,
                    parent=start.parent.name if start.parent else None,
                    parent_weights=parent_weights,
                    initial_base=base_hash(model),
                    initial_head=head_hash(model),
                    tokenizer=tokenizer.fingerprint,
                    data=data,
                    sizes={**parts.sizes, **earlier_sizes(start.parent)},
                ),
            )
            begin_run(run, recipe, tokenizer, manifest)
        world.barrier()
        compute.place(model)
        multiple = compute.row_multiple
        state = _train(run, model, tokenizer, design, recipe, parts, rows, multiple, world)
        if world.is_main:
            finish(run, model, state, recipe.train)
        world.barrier()
    notice(f"run written to {run.path}")
    return run


def _follows_intermediate(run: RunDirectory, start: Start) -> bool:
    """Whether the parent is the run that auxiliary data made inside the output folder."""
    intermediate = (run.path / INTERMEDIATE).resolve()
    return start.parent is not None and start.parent.path.resolve() == intermediate


@dataclass(frozen=True)
class _Design:
    """The classifier's labels, how it reads and what its head looks like."""

    labels: list[str]
    direction: Direction
    head: ClassificationHead

    @classmethod
    def of(cls, recipe: Recipe, labels: list[str], directions: list[Direction]) -> _Design:
        spec = classification_of(recipe)
        direction = choose_direction(spec, directions)
        pooler = choose_pooler(spec, direction)
        head = ClassificationHead(classes=len(labels), pooler=pooler, dropout=spec.dropout)
        return cls(labels, direction, head)

    @property
    def heads(self) -> dict[str, HeadSpec]:
        return {"classification": self.head}

    @property
    def causal(self) -> bool:
        return self.direction == "causal"


def _part_tokens(recipe: Recipe, world: World, rows: LabelledRows) -> int:
    """Return the usual number of tokens in one part of a step's batch."""
    texts = min(recipe.train.batch, len(rows.ids)) / recipe.train.accumulation / world.size
    return round(max(1.0, texts) * sum(map(len, rows.ids)) / len(rows.ids))


def _require_memory(recipe: Recipe, design: _Design, world: World, lengths: Sequence[int]) -> None:
    """Raise an error if training on rows of these lengths does not fit into memory."""
    train = recipe.train
    batch = BatchShape(
        rows=-(-min(train.batch, len(lengths)) // world.size),
        parts=train.accumulation,
        row_tokens=sum(lengths) / len(lengths),
    )
    heads = design.heads.values()
    require_training_memory(recipe.model, recipe.tokenizer.vocab, heads, train, batch)


def _load_weights(model: Model, design: _Design, start: Start, *, show_tensors: bool) -> str | None:
    """Load the parent's weights, with its head if that has the same labels; return their hash."""
    parent = start.parent
    if parent is None:
        notice("from scratch: all weights are new")
        return None
    weights, digest = run_weights(parent)
    before = parent.manifest()
    is_same_task = before.labels == design.labels and before.heads == design.heads
    keep_heads = is_same_task and not start.new_head
    taken = transfer(model, weights, parent.name, keep_heads=keep_heads)
    notice(taken.describe(parent.name, show_tensors))
    return digest


def _train(
    run: RunDirectory,
    model: Model,
    tokenizer: Tokenizer,
    design: _Design,
    recipe: Recipe,
    parts: LabelledParts,
    rows: LabelledRows,
    row_multiple: int,
    world: World,
) -> TrainingState:
    """Train the models of the soup, which is one training by default."""
    spec, labels, head = recipe.train, parts.labels, classification_of(recipe)
    lengths = tuple(len(row) for row in rows.ids)
    counts = np.bincount(rows.targets, minlength=len(labels)).tolist()
    objective = ClassificationObjective(
        head, counts, causal=design.causal, pad=tokenizer.pad, multiple=row_multiple
    )
    masker = build_masker(head.token_dropout, tokenizer)
    held_out = HeldOut(model, tokenizer, labels, parts.valid, causal=design.causal, world=world)
    notice(
        f"fine-tune: {len(parts.train):,} texts, {len(labels)} classes, "
        f"{len(parts.valid):,} held out, reading {design.direction}, pooler {design.head.pooler}"
    )

    def train_member(member: int, into: RunDirectory) -> TrainingState:
        seed = member_seed(recipe.seed, member)
        sampler = ExampleSampler(seed, lengths, spec.batch)
        task = Task(
            objective=objective,
            batches=_Batches(objective, rows, masker, sampler, seed, spec.accumulation, world),
            evaluate=held_out.evaluate,
            steps_per_epoch=sampler.steps_per_epoch,
            seed=seed,
            name=member_name(member, spec.soup),
        )
        return fit(into, model, task, spec, world)

    return fit_soup(run, model, train_member, held_out.evaluate, soup=spec.soup, world=world)


@dataclass(frozen=True)
class _Batches:
    """The batches of one training: the order of the texts and the hidden tokens follow its seed."""

    objective: ClassificationObjective
    rows: LabelledRows
    masker: Masker | None
    sampler: ExampleSampler
    seed: int
    accumulation: int
    world: World

    def __call__(self, step: int) -> list[Batch]:
        indices = self.world.shard(self.sampler.step(step))
        return [
            self.objective.prepare(
                [self._row(step, int(index)) for index in part], self.rows.targets[part].tolist()
            )
            for part in np.array_split(indices, self.accumulation)
            if len(part)
        ]

    def _row(self, step: int, index: int) -> npt.NDArray[np.int64]:
        """Return a row as it is seen at this step: other tokens are hidden in each epoch."""
        row = self.rows.ids[index]
        if self.masker is None:
            return row
        return self.masker.hide(row, rng(self.seed, "token dropout", step, index))[0]


class HeldOut:
    """Labelled texts for validation, encoded once and shared out over the ranks."""

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        labels: list[str],
        examples: Sequence[Example],
        *,
        causal: bool,
        world: World,
    ) -> None:
        self.world = world
        self.model = model
        self.tokenizer = tokenizer
        self.labels = labels
        self.targets = [example.label for example in examples]
        documents = tokenizer.encode_all(example.text for example in examples)
        longest = model.spec.context - 2
        self.texts = [split_windows(ids, longest, "windows") for ids in documents]
        self.causal = causal

    def evaluate(self, _: TrainingState) -> Evaluated:
        """Return accuracy, macro F1 and log loss of the model as it is now, on all of the texts."""
        probabilities = self._probabilities()
        if not np.isfinite(probabilities).all():
            nothing = dict.fromkeys(("accuracy", "macro_f1", "log_loss"), math.nan)
            return Evaluated(score=math.nan, metrics=nothing, line="the scores are not finite")
        found = evaluate_probabilities(self.labels, self.targets, probabilities)
        metrics = {
            "accuracy": found.accuracy,
            "macro_f1": found.macro_f1,
            "log_loss": found.log_loss,
        }
        line = f"validation accuracy {found.accuracy:.1%} · log loss {found.log_loss:.3f}"
        # Equal accuracies are told apart by the log loss, which never outweighs half a text.
        score = found.accuracy - 0.05 * min(found.log_loss, 10.0) / found.examples
        return Evaluated(score=score, metrics=metrics, line=line)

    def _probabilities(self) -> npt.NDArray[np.float64]:
        """Return probabilities [texts, classes], of which each rank computes some rows."""
        own = slice(self.world.rank, None, self.world.size)
        probabilities = np.zeros((len(self.texts), len(self.labels)))
        probabilities[own] = class_probabilities(
            self.model, self.tokenizer, self.texts[own], causal=self.causal
        )
        return self.world.sum_array(probabilities)

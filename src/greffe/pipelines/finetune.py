"""Fine-tune: a base and labelled texts → a classifier. Or the same architecture from scratch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from greffe.config.classification import Classification
from greffe.config.components import HeadSpec
from greffe.config.options import Reading
from greffe.config.recipe import Recipe
from greffe.data.batches import Batch
from greffe.data.sampler import ExampleSampler
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.errors import RecipeError
from greffe.evaluation.metrics import evaluate_probabilities, label_indices
from greffe.inference.predict import predict_ids
from greffe.model.heads.classification import ClassificationHead
from greffe.model.model import Model, build_model
from greffe.model.weights import base_hash, check_same_architecture, head_hash, transfer
from greffe.objectives.classification import ClassificationObjective
from greffe.pipelines.finetune_recipe import (
    build_masker,
    choose_direction,
    choose_pooler,
    choose_tokenizer,
    directions_of,
    finetune_recipe,
)
from greffe.pipelines.fit import Evaluated, finish, fit
from greffe.pipelines.labelled import Examples, check_labels, data_hash, encode_rows, load_parts
from greffe.pipelines.provenance import earlier_data
from greffe.pipelines.run_folder import (
    check_same_data,
    check_same_recipe,
    check_same_way,
    is_finished,
    run_folder,
)
from greffe.pipelines.soup import called, drop_soup, fit_soup, member_seed
from greffe.progress import notice
from greffe.run import INTERMEDIATE, RUN_FILE, Manifest, RunDirectory, new_lineage
from greffe.seeding import rng
from greffe.training.checkpoint import TrainingState, run_weights
from greffe.training.compute import set_up_compute
from greffe.training.distributed import World


def finetune(
    data: Examples,
    out: str | Path,
    *,
    parent: RunDirectory | None = None,
    like: RunDirectory | None = None,
    recipe: str | Path | Recipe | None = None,
    valid: Examples | None = None,
    budget: str | None = None,
    seed: int | None = None,
    soup: int | None = None,
    changes: Sequence[str] = (),
    options: Reading | None = None,
    drawn_from: Mapping[str, str] | None = None,
    afterwards: Recipe | None = None,
    new_head: bool = False,
    show_tensors: bool = False,
    overwrite: bool = False,
    resume: bool = False,
) -> RunDirectory:
    """Teach classes: from `parent`'s weights, or from scratch, shaped like `like` or `recipe`.

    `drawn_from` are hashes of the tables that `data` is a part of; `afterwards` is the recipe by
    which one fine-tunes from this run, if that is another one.
    """
    model_of = parent or like
    if model_of is None and recipe is None:
        raise RecipeError(
            "There is nothing to fine-tune.",
            expected="--from RUN, or --scratch with --like RUN or --recipe NAME",
        )
    chosen = finetune_recipe(model_of, recipe, budget, seed, changes, soup=soup)
    if afterwards is not None:
        then = {"finetune": afterwards.finetune, "classification": afterwards.classification}
        chosen = chosen.model_copy(update=then)
    spec = chosen.objective
    assert isinstance(spec, Classification)
    if parent is not None:
        check_same_architecture(parent.recipe().model, chosen.model, parent.name)
    world = World.join()
    threads = set_up_compute(chosen.train.threads)
    train_part, valid_part = load_parts(data, valid, options or Reading(), chosen.seed)
    labels = check_labels(train_part, valid_part)
    targets = label_indices(labels, [example.label for example in train_part])

    given = [part for part in (data, valid) if isinstance(part, str | Path)]
    sources = [*given, *([model_of.path] if model_of else [])]
    with run_folder(out, world, overwrite=overwrite, resume=resume, sources=sources) as folder:
        run = RunDirectory(folder.path)
        if folder.resuming:
            intermediate = (run.path / INTERMEDIATE).resolve()
            check_same_way(
                run, aux_data=parent is not None and parent.path.resolve() == intermediate
            )
        if folder.resuming and is_finished(run, chosen):
            return run
        tokenizer = choose_tokenizer(model_of, chosen.tokenizer, spec, train_part)
        chosen = chosen.with_vocab(tokenizer.size)
        hashes = {
            "train": data_hash(train_part),
            "valid": data_hash(valid_part),
            **(drawn_from or {}),
            **({} if parent is None else earlier_data(parent)),
        }
        if folder.resuming:
            check_same_recipe(run, chosen)
            check_same_data(run, hashes)
        directions = directions_of(model_of, recipe)
        direction = choose_direction(spec, directions)
        head = ClassificationHead(
            classes=len(labels),
            pooler=choose_pooler(spec, direction),
            dropout=spec.dropout,
        )
        heads: dict[str, HeadSpec] = {"classification": head}
        model = build_model(chosen.model, tokenizer.size, heads, chosen.seed)
        parent_hash = None
        if parent is not None:
            weights, parent_hash = run_weights(parent)
            before = parent.manifest()
            same_task = before.labels == labels and before.heads == heads and not new_head
            taken = transfer(model, weights, parent.name, keep_heads=same_task)
            notice(taken.describe(parent.name, show_tensors))
        else:
            notice("from scratch: every weight is new")
        rows = encode_rows(train_part, targets, tokenizer, chosen.model.context, spec.long)
        task = ClassificationObjective(
            spec,
            np.bincount(rows.targets, minlength=len(labels)).tolist(),
            causal=direction == "causal",
            pad=tokenizer.pad,
        )
        if world.is_main and not (run.path / RUN_FILE).exists():
            run.write_recipe(chosen)
            tokenizer.save(run.tokenizer_path)
            run.write_manifest(
                Manifest(
                    kind="classifier",
                    status="training",
                    vocab=tokenizer.size,
                    heads=heads,
                    directions=directions,
                    labels=labels,
                    direction=direction,
                    lineage=new_lineage(
                        threads=threads,
                        parent=parent.name if parent else None,
                        parent_weights=parent_hash,
                        initial_base=base_hash(model),
                        initial_head=head_hash(model),
                        tokenizer=tokenizer.fingerprint,
                        data=hashes,
                    ),
                )
            )
        world.barrier()

        masker = build_masker(spec.token_dropout, tokenizer)
        held_out = HeldOut(model, tokenizer, labels, valid_part, causal=direction == "causal")
        notice(
            f"fine-tune: {len(train_part):,} texts, {len(labels)} classes, "
            f"{len(valid_part):,} held out, reading {direction}, pooler {head.pooler}"
        )

        def train_member(member: int, into: RunDirectory) -> TrainingState:
            """One training from where the model stands, in an order of its own."""
            seed = member_seed(chosen.seed, member)
            sampler = ExampleSampler(seed, tuple(len(row) for row in rows.ids), chosen.train.batch)

            def seen(step: int, place: int) -> npt.NDArray[np.int64]:
                if masker is None:
                    return rows.ids[place]
                return masker.hide(rows.ids[place], rng(seed, "token dropout", step, place))[0]

            def batches(step: int) -> list[Batch]:
                places = world.shard(sampler.step(step))
                return [
                    task.prepare([seen(step, int(p)) for p in part], rows.targets[part].tolist())
                    for part in np.array_split(places, chosen.train.accumulation)
                    if len(part)
                ]

            return fit(
                into,
                model,
                task,
                batches,
                held_out.evaluate,
                spec=chosen.train,
                steps_per_epoch=sampler.steps_per_epoch,
                seed=seed,
                world=world,
                what=called(member, chosen.train.soup),
            )

        state = fit_soup(
            run, model, train_member, held_out.evaluate, soup=chosen.train.soup, world=world
        )
        if world.is_main:
            finish(run, model, state, chosen.train)
            drop_soup(run)
        world.barrier()
    run.say_where()
    return run


class HeldOut:
    """Labelled texts that are only looked at, encoded once."""

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        labels: list[str],
        examples: Sequence[Example],
        *,
        causal: bool,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.labels = labels
        self.targets = [example.label for example in examples]
        self.documents = tokenizer.encode_batch([example.text for example in examples])
        self.causal = causal

    def evaluate(self, _: TrainingState) -> Evaluated:
        """Accuracy, macro F1 and log loss of the model as it is now, on all of the texts."""
        predictions = predict_ids(
            self.model, self.tokenizer, self.labels, self.documents, causal=self.causal
        )
        probabilities = np.array(
            [list(prediction.probabilities.values()) for prediction in predictions]
        )
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

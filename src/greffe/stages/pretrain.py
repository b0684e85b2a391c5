"""Pretrain: a corpus → a run whose base can be grafted. New, or going on from another run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from greffe.checkpoint import check_tokenizer, load_tokenizer, run_weights
from greffe.config import Recipe
from greffe.data.corpus import Corpus, is_corpus
from greffe.data.sampler import RowSampler
from greffe.data.text import ReadOptions
from greffe.data.tokenizer import Tokenizer
from greffe.model.model import Model, build_model
from greffe.objectives import build_language_objective
from greffe.progress import notice
from greffe.recipe_files import load_recipe
from greffe.run import RECIPE_FILE, RUN_FILE, Manifest, RunDirectory, new_lineage
from greffe.stages.fit import finish, fit
from greffe.stages.folders import check_same_data, check_same_recipe, is_finished, run_folder
from greffe.stages.prepare import prepare
from greffe.stages.rows import RowSource, look_at_rows
from greffe.training.loop import set_threads
from greffe.weights import base_hash, check_same_reading, transfer
from greffe.world import World

CORPUS_FOLDER = "corpus"


def pretrain(
    corpus: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    recipe: str | Path | Recipe | None = None,
    parent: RunDirectory | None = None,
    objective: str | None = None,
    budget: str | None = None,
    seed: int | None = None,
    changes: Sequence[str] = (),
    tokenizer: str | Path | Tokenizer | None = None,
    dictionary: Path | None = None,
    options: ReadOptions | None = None,
    valid: float = 0.01,
    show_tensors: bool = False,
    overwrite: bool = False,
    resume: bool = False,
) -> RunDirectory:
    """Grow a base on a prepared corpus, or on raw text that is prepared on the way."""
    chosen = choose_recipe(recipe, parent, objective, budget, seed, changes)
    world = World.join()
    threads = set_threads(chosen.train.threads)
    with run_folder(out, world, overwrite=overwrite, resume=resume) as folder:
        run = RunDirectory(folder.path)
        if folder.resuming and is_finished(run):
            return run
        text = _open_corpus(
            corpus,
            run,
            tokenizer=load_tokenizer(parent) if parent else tokenizer,
            dictionary=dictionary,
            recipe=chosen,
            options=options or ReadOptions(),
            valid=valid,
            world=world,
        )
        if parent is not None:
            check_tokenizer(
                parent.manifest().lineage.tokenizer, text.tokenizer.fingerprint, str(text.path)
            )
        vocab = text.tokenizer.size
        chosen = chosen.with_changes([f"tokenizer.vocab={vocab}"])
        hashes = {"corpus": text.manifest.data_hash}
        if folder.resuming:
            check_same_recipe(run, chosen)
            check_same_data(run, hashes)

        task = build_language_objective(chosen.objective, text.tokenizer, tied=chosen.model.tied)
        model = build_model(chosen.model, vocab, task.heads(), chosen.seed)
        parent_hash = _take_over(model, parent, show_tensors) if parent is not None else None
        if world.is_main and not (run.path / RUN_FILE).exists():
            run.write_recipe(chosen)
            text.tokenizer.save(run.tokenizer_path)
            run.write_manifest(
                Manifest(
                    kind="language-model",
                    status="training",
                    vocab=vocab,
                    heads=task.heads(),
                    directions=list(task.directions),
                    lineage=new_lineage(
                        threads=threads,
                        parent=str(parent.path) if parent else None,
                        parent_weights=parent_hash,
                        initial_base=base_hash(model),
                        tokenizer=text.tokenizer.fingerprint,
                        data=hashes,
                    ),
                )
            )
        world.barrier()

        source = RowSource(text.train, task, chosen.model.context, chosen.seed)
        held_out = RowSource(text.valid, task, chosen.model.context, chosen.seed)
        sampler = RowSampler(chosen.seed, source.rows, chosen.train.batch)
        spec = chosen.train
        notice(
            f"pretrain: {sum(p.numel() for p in model.parameters()):,} parameters, "
            f"{text.train.tokens:,} tokens, objective {chosen.objective.kind}, {threads} threads"
        )
        state = fit(
            run,
            model,
            task,
            lambda step: source.training(sampler, step, spec.accumulation, world),
            (lambda: look_at_rows(model, task, held_out, spec.evaluate_rows))
            if text.valid.tokens
            else None,
            spec=spec,
            steps_per_epoch=sampler.steps_per_epoch,
            seed=chosen.seed,
            world=world,
            what="pretrain",
        )
        if world.is_main:
            finish(run, model, state, spec)
        world.barrier()
    run.say_where()
    return run


def choose_recipe(
    recipe: str | Path | Recipe | None,
    parent: RunDirectory | None,
    objective: str | None,
    budget: str | None,
    seed: int | None,
    changes: Sequence[str],
) -> Recipe:
    """The recipe named, or the parent's, or `small`; then the flags; then each --set."""
    if recipe is None:
        chosen = parent.recipe() if parent is not None else load_recipe("small")
        if parent is not None and parent.manifest().kind == "classifier":
            # A classifier's [train] and objective are for labels: text needs the usual ones.
            usual = load_recipe("small")
            chosen = chosen.model_copy(update={"objective": usual.objective, "train": usual.train})
    else:
        chosen = recipe if isinstance(recipe, Recipe) else load_recipe(recipe)
    flags = [f"objective.kind={objective}"] if objective else []
    flags += [f"train.budget={budget}"] if budget else []
    flags += [f"seed={seed}"] if seed is not None else []
    return chosen.with_changes([*flags, *changes])


def _open_corpus(
    corpus: str | Path | Sequence[str | Path],
    run: RunDirectory,
    *,
    tokenizer: str | Path | Tokenizer | None,
    dictionary: Path | None,
    recipe: Recipe,
    options: ReadOptions,
    valid: float,
    world: World,
) -> Corpus:
    """The prepared corpus, or one prepared from raw text inside the run."""
    inputs = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    if len(inputs) == 1 and is_corpus(inputs[0]):
        return Corpus.open(inputs[0])
    place = run.path / CORPUS_FOLDER
    if world.is_main:
        # The recipe marks the folder as ours from the first moment: preparing can be resumed too.
        if not (run.path / RECIPE_FILE).exists():
            run.write_recipe(recipe)
        prepare(
            inputs,
            place,
            recipe_tokenizer=recipe.tokenizer,
            tokenizer=tokenizer,
            dictionary=dictionary,
            options=options,
            valid=valid,
            seed=recipe.seed,
            resume=True,
        )
    world.barrier()
    return Corpus.open(place)


def _take_over(model: Model, parent: RunDirectory, show_tensors: bool) -> str:
    weights, digest = run_weights(parent)
    taken = transfer(model, weights, str(parent.path), keep_heads=True)
    check_same_reading(parent.recipe().model, model.spec, str(parent.path))
    notice(taken.describe(str(parent.path), show_tensors))
    return digest

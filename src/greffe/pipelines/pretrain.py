"""Pretrain: a corpus → a run whose base can be grafted. New, or going on from another run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from greffe.config.options import Reading
from greffe.config.recipe import Recipe
from greffe.data.corpus import Corpus
from greffe.data.sampler import RowSampler
from greffe.data.tokenizer import Tokenizer
from greffe.errors import RecipeError
from greffe.model.model import build_model
from greffe.model.weights import base_hash, check_same_architecture, transfer
from greffe.objectives.objective import build_language_objective
from greffe.pipelines.choose_recipe import (
    autosized_recipe,
    begun_recipe,
    choose_recipe,
    is_prepared,
    is_time,
)
from greffe.pipelines.corpus_batches import RowSource, evaluate_rows, rows_per_evaluation
from greffe.pipelines.fit import Evaluated, finish, fit
from greffe.pipelines.prepare import find_tokenizer, prepare
from greffe.pipelines.run_folder import (
    check_same_data,
    check_same_recipe,
    is_finished,
    run_folder,
)
from greffe.pipelines.vocabulary_transfer import replant
from greffe.pipelines.warm_start import warm_start
from greffe.progress import notice
from greffe.run import RUN_FILE, Manifest, RunDirectory, new_lineage
from greffe.training.checkpoint import (
    TrainingState,
    check_tokenizer,
    last_checkpoint,
    load_tokenizer,
    run_weights,
)
from greffe.training.compute import set_up_compute
from greffe.training.distributed import World

HELD_OUT = 0.01
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
    vocab: int | None = None,
    tokenizer: str | Path | Tokenizer | None = None,
    dictionary: Path | None = None,
    lowercase: bool = False,
    options: Reading | None = None,
    valid: float = HELD_OUT,
    vocabulary_transfer: bool = False,
    show_tensors: bool = False,
    overwrite: bool = False,
    resume: bool = False,
) -> RunDirectory:
    """Grow a base on a prepared corpus, or on raw text that is prepared on the way.

    With a parent its tokenizer is kept, unless its weights are `replanted` into the text's own.
    """
    inputs = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    keeps = parent is not None and not vocabulary_transfer
    words = {
        "--vocab": vocab is not None,
        "--tokenizer": tokenizer is not None,
        "--dictionary": dictionary is not None,
        "--lowercase": lowercase,
    }
    _check_flags(inputs, parent, vocabulary_transfer, words, options, valid, changes)
    if vocab is not None:
        changes = [f"tokenizer.vocab={vocab}", *changes]
    world = World.join()
    if recipe is None and parent is None and budget is not None and is_time(budget):
        begun = begun_recipe(out) if resume else None
        given = find_tokenizer(tokenizer, dictionary)
        pieces = vocab if given is None else given.size
        recipe = begun or autosized_recipe(inputs, objective, budget, pieces, world)
    chosen = choose_recipe(recipe, parent, objective, budget, seed, changes)
    known = None
    if parent is not None:  # whatever does not fit is said before the work begins
        known = load_tokenizer(parent)
        check_same_architecture(parent.recipe().model, chosen.model, parent.name)
    threads = set_up_compute(chosen.train.threads)
    sources = [*inputs, *([parent.path] if parent else [])]
    with run_folder(out, world, overwrite=overwrite, resume=resume, sources=sources) as folder:
        run = RunDirectory(folder.path)
        if folder.resuming and is_finished(run, chosen):
            return run
        text = _open_corpus(
            inputs,
            run,
            tokenizer=known if keeps else tokenizer,
            dictionary=dictionary,
            lowercase=lowercase,
            like=None if keeps or tokenizer else known,
            recipe=chosen,
            options=options or Reading(),
            valid=valid,
            world=world,
        )
        if text.tokenizer.lowercases:
            notice("the tokenizer reads small letters: the base will write no others")
        if parent is not None and keeps:
            expected = parent.manifest().lineage.tokenizer
            check_tokenizer(
                expected,
                text.tokenizer.fingerprint,
                str(text.path),
                hint="prepare the text again with the parent's own (greffe prepare --tokenizer "
                "RUN), or --replant takes the weights over into this one",
            )
        size = text.tokenizer.size
        chosen = chosen.with_vocab(size)
        hashes = {"corpus": text.manifest.data_hash}
        if folder.resuming:
            check_same_recipe(run, chosen)
            check_same_data(run, hashes)
            _check_same_ground(run, vocabulary_transfer)

        task = build_language_objective(chosen.objective, text.tokenizer, tied=chosen.model.tied)
        model = build_model(chosen.model, size, task.heads(), chosen.seed)
        # A checkpoint has an embedding of its own, and so has a parent whose tokenizer is kept.
        is_new = last_checkpoint(run.checkpoints_path) is None
        parent_hash = None
        if parent is not None:
            if keeps:
                weights, parent_hash = run_weights(parent)
                taken = transfer(model, weights, parent.name, keep_heads=True)
            else:
                assert known is not None
                taken, parent_hash = replant(
                    model, parent, known, text, chosen, world, is_new=is_new
                )
            notice(taken.describe(parent.name, show_tensors))
        elif is_new:
            warm_start(model, text, chosen, world)
        if world.is_main and not (run.path / RUN_FILE).exists():
            run.write_recipe(chosen)
            text.tokenizer.save(run.tokenizer_path)
            run.write_manifest(
                Manifest(
                    kind="language-model",
                    status="training",
                    vocab=size,
                    heads=task.heads(),
                    directions=list(chosen.objective.directions),
                    lineage=new_lineage(
                        threads=threads,
                        parent=parent.name if parent else None,
                        parent_weights=parent_hash,
                        vocabulary_transfer=vocabulary_transfer,
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

        def evaluate(state: TrainingState) -> Evaluated:
            most = rows_per_evaluation(spec, sampler.steps_per_epoch, state)
            return evaluate_rows(model, task, held_out, most)

        state = fit(
            run,
            model,
            task,
            lambda step: source.training(sampler, step, spec.accumulation, world),
            evaluate if text.valid.tokens else None,
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


def _check_flags(
    inputs: Sequence[str | Path],
    parent: RunDirectory | None,
    vocabulary_transfer: bool,
    words: Mapping[str, bool],
    options: Reading | None,
    valid: float,
    changes: Sequence[str],
) -> None:
    """A flag that would have no effect is an error, not a silent wish.

    `words` are those of the vocabulary, and whether they are given.
    """
    reading = {
        "--documents, --encoding or --text-column": options not in (None, Reading()),
        "--valid": valid != HELD_OUT,
    }
    if vocabulary_transfer and parent is None:
        raise RecipeError(
            "There is nothing to replant.",
            expected="a run whose weights are taken over into the text's own vocabulary",
            found="no --from",
            hint="--from RUN, for example --from greffe-fr; or leave out --replant",
        )
    keeps = parent is not None and not vocabulary_transfer
    idle = [flag for flag, is_given in words.items() if is_given and keeps]
    if idle:
        raise RecipeError(
            f"{', '.join(idle)} cannot be used with --from: the parent's tokenizer is kept.",
            hint="--replant takes the weights over into another vocabulary",
        )
    if keeps and any(change.partition("=")[0].strip() == "warm_start" for change in changes):
        raise RecipeError(
            "warm_start has no effect with --from: the embedding is the parent's own.",
            hint="leave it out",
        )
    idle = [flag for flag, is_given in {**words, **reading}.items() if is_given]
    if idle and is_prepared(inputs):
        raise RecipeError(
            f"{', '.join(idle)} cannot be used with a prepared corpus: {inputs[0]} has it all.",
            hint="give these flags to greffe prepare, or the raw text to greffe pretrain",
        )


def _check_same_ground(run: RunDirectory, vocabulary_transfer: bool) -> None:
    """A resumed run was replanted or was not: the flag cannot come or go on the way."""
    if not (run.path / RUN_FILE).exists():
        return
    before = run.manifest().lineage.vocabulary_transfer
    if before != vocabulary_transfer:
        raise RecipeError(
            f"{run.path} was begun {'with' if before else 'without'} --replant.",
            expected="the same flags as before",
            found=f"{'--replant' if vocabulary_transfer else 'no --replant'}",
            hint="resume with the same flags, or start anew with --overwrite",
        )


def _open_corpus(
    inputs: Sequence[str | Path],
    run: RunDirectory,
    *,
    tokenizer: str | Path | Tokenizer | None,
    dictionary: Path | None,
    lowercase: bool,
    like: Tokenizer | None,
    recipe: Recipe,
    options: Reading,
    valid: float,
    world: World,
) -> Corpus:
    """The prepared corpus, or one prepared from raw text inside the run."""
    if is_prepared(inputs):
        text = Corpus.open(inputs[0])
        if world.is_main:
            text.verify()
        return text
    place = run.path / CORPUS_FOLDER
    if world.is_main:
        prepare(
            inputs,
            place,
            recipe_tokenizer=recipe.tokenizer,
            tokenizer=tokenizer,
            dictionary=dictionary,
            lowercase=lowercase,
            like=like,
            options=options,
            valid=valid,
            seed=recipe.seed,
            resume=True,
        )
    world.barrier()
    return Corpus.open(place)

"""Pretrain: a corpus → a run whose base can be fine-tuned. New, or continued from another run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from greffe.config.options import Output, Reading, TokenizerOptions, Training
from greffe.config.recipe import Recipe
from greffe.data.corpus import Corpus
from greffe.data.sampler import RowSampler
from greffe.data.tokenizer import Tokenizer
from greffe.errors import MismatchError, RecipeError
from greffe.model.arithmetic import MatrixProduct, matrix_products
from greffe.model.formulas import count_parameters
from greffe.model.memory import (
    BatchShape,
    MemoryNeed,
    require_training_memory,
    training_need,
)
from greffe.model.model import Model, build_model
from greffe.model.weights import base_hash, check_same_architecture, transfer
from greffe.objectives.objective import LanguageObjective, language_spec
from greffe.pipelines.choose_recipe import (
    autosized_recipe,
    choose_recipe,
    is_prepared,
    needs_autosize,
    started_recipe,
)
from greffe.pipelines.computing import compute_of
from greffe.pipelines.corpus_batches import RowSource, evaluate_rows, rows_per_evaluation
from greffe.pipelines.fit import Evaluated, Task, finish, fit
from greffe.pipelines.prepare import CorpusPlan, find_tokenizer, plan_corpus, write_corpus
from greffe.pipelines.run_folder import (
    begin_folder,
    begin_run,
    check_disk,
    check_same_data,
    check_same_recipe,
    is_finished,
    run_folder,
)
from greffe.pipelines.tracking import tracked
from greffe.pipelines.vocabulary_transfer import transfer_vocabulary
from greffe.pipelines.warm_start import warm_start
from greffe.progress import notice, quiet
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
    output: Output,
    *,
    parent: RunDirectory | None = None,
    training: Training = Training(),
    tokenizer_options: TokenizerOptions = TokenizerOptions(),
    reading: Reading = Reading(),
    valid: float = HELD_OUT,
) -> RunDirectory:
    """Train a language model on a prepared corpus, or on raw text that is prepared first.

    With a parent, its weights are the start and its tokenizer is kept, unless `new_vocab` asks for
    a transfer to a vocabulary made for this text.
    """
    inputs = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    known = load_tokenizer(parent) if parent is not None else None
    request = _Request(inputs, parent, training, tokenizer_options, reading, valid, known)
    _check_flags(request)
    world = World.join()
    sources = [*inputs, *([parent.path] if parent else [])]
    with run_folder(output, world, sources) as folder:
        recipe = _choose_recipe(request, output, world)
        threads = set_up_compute(recipe.train.threads)
        run = RunDirectory(folder.path)
        if folder.resuming and is_finished(run, recipe, world):
            return run
        plan = _plan_text(request, recipe, world)
        # What is too large for any text is refused before a folder is emptied or a text prepared.
        smallest = plan.tokenizer.size if plan.tokenizer else 1
        _require_memory(recipe, smallest, world)
        heads = language_spec(recipe.objective).heads(tied=recipe.model.tied).values()
        check_disk(folder, count_parameters(recipe.model, smallest, heads))
        begin_folder(folder, world)
        text = _open_corpus(plan, run, world)
        recipe = recipe.with_vocab(text.tokenizer.size)
        data = {"corpus": text.manifest.data_hash}
        if folder.resuming:
            check_same_recipe(run, recipe)
            check_same_data(run, data)
            _check_same_transfer(run, request)
        length = text.manifest.tokens / text.manifest.documents
        _require_memory(recipe, text.tokenizer.size, world, document_tokens=length)
        compute = compute_of(run, recipe.train, _products(recipe, world), world, "pretrain")
        exact = recipe.with_changes([f"train.precision={compute.precision}"])
        _require_memory(exact, text.tokenizer.size, world, document_tokens=length)
        tied = recipe.model.tied
        objective = language_spec(recipe.objective).build(text.tokenizer, tied=tied)
        model = build_model(recipe.model, text.tokenizer.size, objective.heads(), recipe.seed)
        parent_weights = _initialize(model, request, text, recipe, run, world)
        if world.is_main and not (run.path / RUN_FILE).exists():
            documents, tokens = text.manifest.documents, text.manifest.tokens
            manifest = Manifest(
                kind="language-model",
                status="training",
                vocab=text.tokenizer.size,
                heads=objective.heads(),
                directions=list(recipe.objective.directions),
                lineage=new_lineage(
                    threads=threads,
                    device=compute.device.type,
                    precision=compute.precision,
                    parent=parent.name if parent else None,
                    parent_weights=parent_weights,
                    vocabulary_transfer=request.transfers_vocabulary,
                    initial_base=base_hash(model),
                    tokenizer=text.tokenizer.fingerprint,
                    data=data,
                    sizes={"corpus": f"{documents:,} documents, {tokens:,} tokens"},
                ),
            )
            begin_run(run, recipe, text.tokenizer, manifest)
        world.barrier()
        with tracked(run, training.track, world) as run:
            state = _train(run, compute.place(model), objective, text, recipe, world)
            if world.is_main:
                finish(run, model, state, recipe.train)
        world.barrier()
    notice(f"run written to {run.path}")
    return run


@dataclass(frozen=True)
class _Request:
    """The arguments of a pretraining."""

    inputs: list[str | Path]
    parent: RunDirectory | None
    training: Training
    tokenizer_options: TokenizerOptions
    reading: Reading
    valid: float
    parent_tokenizer: Tokenizer | None

    @property
    def transfers_vocabulary(self) -> bool:
        return self.tokenizer_options.new_vocab is not None

    @property
    def keeps_tokenizer(self) -> bool:
        return self.parent is not None and not self.transfers_vocabulary


def _check_flags(request: _Request) -> None:
    """Raise an error for flags that contradict each other or would have no effect."""
    options = request.tokenizer_options
    if options.new_vocab is not None and request.parent is None:
        raise RecipeError(
            "--new-vocab transfers the weights of a run, and no run is given.",
            expected="--from RUN with --new-vocab, or --vocab for a new base",
            hint="--from RUN, for example --from greffe-fr",
        )
    if options.new_vocab is not None and options.vocab is not None:
        raise RecipeError(
            "--vocab and --new-vocab are mutually exclusive.", hint="leave out --vocab"
        )
    tokenizer_flags = {
        "--vocab": options.vocab is not None,
        "--tokenizer": options.tokenizer is not None,
        "--dictionary": options.dictionary is not None,
        "--lowercase": options.lowercase,
    }
    given = [flag for flag, is_given in tokenizer_flags.items() if is_given]
    if given and request.keeps_tokenizer:
        raise RecipeError(
            f"{', '.join(given)} cannot be used with --from: the parent's tokenizer is kept.",
            hint="--new-vocab N transfers the weights to another vocabulary",
        )
    changed = {change.partition("=")[0].strip() for change in request.training.changes}
    if request.keeps_tokenizer and "warm_start" in changed:
        raise RecipeError(
            "warm_start has no effect with --from: the embedding is the parent's.",
            hint="leave it out",
        )
    if request.reading != Reading():
        given.append("--documents, --encoding or --text-column")
    if request.valid != HELD_OUT:
        given.append("--valid")
    if given and is_prepared(request.inputs):
        raise RecipeError(
            f"{', '.join(given)} cannot be used with {request.inputs[0]}, a prepared corpus.",
            hint="pass these flags to greffe prepare, or pass raw text to greffe pretrain",
        )


def _choose_recipe(request: _Request, output: Output, world: World) -> Recipe:
    """Return the recipe; with a parent, check that it has the same architecture."""
    options, training, parent = request.tokenizer_options, request.training, request.parent
    vocab = options.new_vocab if options.vocab is None else options.vocab
    autosized = None
    if needs_autosize(training, parent):
        autosized = started_recipe(output.out) if output.resume else None
        if autosized is None:
            given = find_tokenizer(options)
            size = vocab if given is None else given.size
            autosized = autosized_recipe(request.inputs, training, size, world)
    changes = []
    if vocab is not None:
        changes.append(f"tokenizer.vocab={vocab}")
    if request.transfers_vocabulary and training.recipe is None:
        # The parent may keep its embedding nearly as it is, as greffe-fr does; this one is new.
        changes.append("train.embedding_rate=1.0")
    training = replace(training, changes=[*changes, *training.changes])
    recipe = choose_recipe(training, parent, autosized)
    language_spec(recipe.objective)
    if parent is None and recipe.train.lora.rank:
        raise RecipeError(
            "LoRA adapts a trained base, and no run is given.",
            expected="--from RUN with train.lora.rank, or train.lora.rank = 0",
            found=f"train.lora.rank = {recipe.train.lora.rank} without --from",
            hint="a new base is trained whole: --set train.lora.rank=0",
        )
    if parent is not None:  # a mismatch is an error before the work starts
        check_same_architecture(parent.recipe().model, recipe.model, parent.name)
    return recipe


def _require_memory(
    recipe: Recipe, vocab: int, world: World, *, document_tokens: float = 0.0
) -> None:
    """Raise an error if this training does not fit into memory; 0 tokens: not known yet."""
    batch = _batch_shape(recipe, world.size, document_tokens)
    heads = language_spec(recipe.objective).heads(tied=recipe.model.tied)
    require_training_memory(recipe.model, vocab, heads.values(), recipe.train, batch)


def pretraining_need(recipe: Recipe) -> MemoryNeed:
    """Return the memory that a pretraining with this recipe needs, about."""
    heads = language_spec(recipe.objective).heads(tied=recipe.model.tied)
    batch = _batch_shape(recipe, ranks=1, document_tokens=recipe.model.context)
    vocab = recipe.tokenizer.vocab
    return training_need(recipe.model, vocab, heads.values(), recipe.train, batch)


def _batch_shape(recipe: Recipe, ranks: int, document_tokens: float) -> BatchShape:
    language, context = language_spec(recipe.objective), recipe.model.context
    return BatchShape(
        rows=-(-recipe.train.batch // ranks),
        parts=recipe.train.accumulation,
        row_tokens=context if language.fills_rows else min(context, document_tokens),
        predicted=language.predicted_fraction,
        is_packed=language.fills_rows and 0 < document_tokens < context / 2,
    )


def _products(recipe: Recipe, world: World) -> list[MatrixProduct]:
    """Return the matrix products of one part of a step's batch."""
    batch = _batch_shape(recipe, world.size, document_tokens=recipe.model.context)
    tokens = round(batch.rows / batch.parts * batch.row_tokens)
    predicted = round(tokens * batch.predicted)
    vocab = recipe.tokenizer.vocab
    return matrix_products(recipe.model, tokens, vocab=vocab, predicted=predicted)


def _plan_text(request: _Request, recipe: Recipe, world: World) -> Corpus | CorpusPlan:
    """Open the prepared corpus, or plan to prepare raw text; check all that is known before."""
    text: Corpus | CorpusPlan
    if is_prepared(request.inputs):
        text = Corpus.open(request.inputs[0])
        if world.is_main:
            text.verify()
    else:
        text = _plan_corpus(request, recipe)
    if request.parent is not None:
        with quiet():
            run_weights(request.parent)  # damaged ones are found before hours of preparing text
        if text.tokenizer is not None:
            _check_vocabulary(request, request.parent, text.tokenizer)
    return text


def _plan_corpus(request: _Request, recipe: Recipe) -> CorpusPlan:
    options = replace(
        request.tokenizer_options,
        tokenizer_kind=recipe.tokenizer.kind,
        vocab=recipe.tokenizer.vocab,
    )
    if request.keeps_tokenizer:
        options = replace(options, tokenizer=request.parent_tokenizer)
    return plan_corpus(
        request.inputs,
        tokenizer_options=options,
        like=request.parent_tokenizer if options.tokenizer is None else None,
        reading=request.reading,
        valid=request.valid,
        seed=recipe.seed,
    )


def _open_corpus(text: Corpus | CorpusPlan, run: RunDirectory, world: World) -> Corpus:
    """Return the prepared corpus; raw text is prepared inside the run."""
    if isinstance(text, CorpusPlan):
        folder = run.path / CORPUS_FOLDER
        if world.is_main:
            write_corpus(text, Output(out=folder, resume=True))
        world.barrier()
        text = Corpus.open(folder)
    if text.tokenizer.lowercases:
        notice("the tokenizer lowercases all text: the base will generate lowercase text only")
    return text


def _check_vocabulary(request: _Request, parent: RunDirectory, tokenizer: Tokenizer) -> None:
    """Raise an error unless the text has the parent's tokenizer, or the new vocabulary's size."""
    size, new_vocab = tokenizer.size, request.tokenizer_options.new_vocab
    if request.keeps_tokenizer:
        check_tokenizer(
            parent.manifest().lineage.tokenizer,
            tokenizer.fingerprint,
            str(request.inputs[0]),
            hint="prepare the text again with greffe prepare --tokenizer RUN, or transfer the "
            f"weights to this vocabulary with --new-vocab {size}",
        )
    if new_vocab is not None and new_vocab != size:
        raise MismatchError(
            f"The tokenizer of this text has {size:,} pieces.",
            expected=f"--new-vocab {size}",
            found=f"--new-vocab {new_vocab}",
        )


def _check_same_transfer(run: RunDirectory, request: _Request) -> None:
    """Raise an error unless --new-vocab is given, or not, as when the run was started."""
    if not (run.path / RUN_FILE).exists():
        return
    before = run.manifest().lineage.vocabulary_transfer
    if before != request.transfers_vocabulary:
        raise RecipeError(
            f"{run.path} was started {'with' if before else 'without'} --new-vocab.",
            expected="the same flags as before",
            found="no --new-vocab" if before else "--new-vocab",
            hint="resume with the same flags, or start again with --overwrite",
        )


def _initialize(
    model: Model,
    request: _Request,
    text: Corpus,
    recipe: Recipe,
    run: RunDirectory,
    world: World,
) -> str | None:
    """Load the parent's weights and return their hash; without a parent, warm-start a new run."""
    # A resumed run loads its embedding from a checkpoint.
    is_new = last_checkpoint(run.checkpoints_path) is None
    parent = request.parent
    if parent is None:
        if is_new:
            warm_start(model, text, recipe, world)
        return None
    if request.keeps_tokenizer:
        weights, digest = run_weights(parent)
        taken = transfer(model, weights, parent.name, keep_heads=True)
    else:
        taken, digest = transfer_vocabulary(model, parent, text, recipe, world, is_new=is_new)
        if recipe.train.lora.rank:
            notice("pretrain: LoRA does not train the embedding of the new vocabulary")
    world.broadcast_weights(model)  # a parent in training may change while the ranks read it
    notice(taken.describe(parent.name, request.training.show_tensors))
    return digest


def _train(
    run: RunDirectory,
    model: Model,
    objective: LanguageObjective,
    text: Corpus,
    recipe: Recipe,
    world: World,
) -> TrainingState:
    spec = recipe.train
    train_rows = RowSource(text.train, objective, recipe.model.context, recipe.seed)
    held_out = RowSource(text.valid, objective, recipe.model.context, recipe.seed)
    sampler = RowSampler(recipe.seed, train_rows.rows, spec.batch)
    notice(
        f"pretrain: {sum(p.numel() for p in model.parameters()):,} parameters, "
        f"{text.train.tokens:,} tokens, objective {recipe.objective.kind}, "
        f"{run.manifest().lineage.threads} threads"
    )

    def evaluate(state: TrainingState) -> Evaluated:
        rows = rows_per_evaluation(spec, sampler.steps_per_epoch, state)
        return evaluate_rows(model, objective, held_out, rows, world)

    task = Task(
        objective=objective,
        batches=lambda step: train_rows.training(sampler, step, spec.accumulation, world),
        evaluate=evaluate if text.valid.tokens else None,
        steps_per_epoch=sampler.steps_per_epoch,
        seed=recipe.seed,
        name="pretrain",
    )
    return fit(run, model, task, spec, world)

"""Fine-tune: a base and labelled texts → a classifier. Or the same architecture from scratch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from greffe.config.options import Output, Reading, Tables, Training
from greffe.config.recipe import Recipe
from greffe.errors import MismatchError
from greffe.model.arithmetic import matrix_products
from greffe.model.formulas import count_parameters
from greffe.model.memory import BatchShape, require_training_memory
from greffe.model.model import Model, build_model
from greffe.model.weights import base_hash, head_hash, transfer
from greffe.pipelines.computing import compute_of
from greffe.pipelines.finetune_recipe import (
    Start,
    choose_tokenizer,
    classification_of,
    directions_of,
    finetune_recipe,
)
from greffe.pipelines.fit import finish
from greffe.pipelines.jobs import SideBySide, choose_jobs
from greffe.pipelines.labelled import LabelledRows, encode_rows, load_parts, table_paths
from greffe.pipelines.members import Classifying, Design, Members
from greffe.pipelines.probe import load_probe, probe_head, save_probe
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
from greffe.pipelines.soup import fit_soup, train_ahead
from greffe.pipelines.tracking import tracked
from greffe.progress import notice, quiet
from greffe.run import INTERMEDIATE, RUN_FILE, Lineage, Manifest, RunDirectory, new_lineage
from greffe.training.checkpoint import TrainingState, run_weights
from greffe.training.compute import set_up_compute
from greffe.training.device import Compute
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
    calibrates: bool = True,
) -> RunDirectory:
    """Train a classifier from `start` on labelled texts.

    `drawn_from` are hashes of the tables that the data is a part of; `afterwards` is the recipe
    for fine-tunings that start from this run, if it differs. A run that others only compare or
    continue need not be calibrated.
    """
    recipe = finetune_recipe(start, training, afterwards)
    world = World.join()
    set_up_compute(recipe.train.threads)
    sources = [*table_paths(tables), *([start.model_of.path] if start.model_of else [])]
    with run_folder(output, world, sources) as folder:
        parts = load_parts(tables, reading, recipe.seed)
        classes = len(parts.labels)
        jobs = choose_jobs(training.jobs, recipe.train.soup, recipe, parts.train, classes)
        threads = set_up_compute(recipe.train.threads, jobs=jobs)
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
        design = Design.of(recipe, parts.labels, directions)
        rows = encode_rows(parts, tokenizer, recipe.model.context, classification_of(recipe).long)
        _require_memory(recipe, design, world, [len(row) for row in rows.ids])
        heads = design.heads.values()
        check_disk(folder, count_parameters(recipe.model, tokenizer.size, heads))
        products = matrix_products(recipe.model, _part_tokens(recipe, world, rows))
        compute = compute_of(run, recipe.train, products, world, "fine-tune")
        exact = recipe.with_changes([f"train.precision={compute.precision}"])
        _require_memory(exact, design, world, [len(row) for row in rows.ids])
        beginning = _Beginning(recipe, tokenizer.size, design, start, world, run)
        model, parent_weights = beginning.model(show_tensors=training.show_tensors)
        shared = Classifying(recipe, design, tokenizer, parts, rows, training.track)
        is_begun = folder.resuming and (run.path / RUN_FILE).exists()
        if beginning.probes and is_begun:
            load_probe(run, model)
        elif beginning.probes:
            probe_head(shared, compute.place(model), world)
        begin_folder(folder, world)
        if world.is_main and not (run.path / RUN_FILE).exists():
            if beginning.probes:
                save_probe(run, model)
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
        members = Members(
            shared, compute.place(model), world, lambda: beginning.weights(run.manifest().lineage)
        )
        with tracked(run, training.track, world) as run:
            state = _train(run, members, compute, SideBySide(jobs, threads))
            calibration = members.held_out.calibrate() if calibrates else None
            if world.is_main:
                finish(run, model, state, recipe.train, calibration)
        world.barrier()
    if calibration is not None:
        notice(f"calibration: {calibration.describe()}")
    elif calibrates:
        notice("calibration: none, as all validation texts are labelled correctly")
    notice(f"run written to {run.path}")
    return run


def _follows_intermediate(run: RunDirectory, start: Start) -> bool:
    """Whether the parent is the run that auxiliary data made inside the output folder."""
    intermediate = (run.path / INTERMEDIATE).resolve()
    return start.parent is not None and start.parent.path.resolve() == intermediate


def _part_tokens(recipe: Recipe, world: World, rows: LabelledRows) -> int:
    """Return the usual number of tokens in one part of a step's batch."""
    texts = min(recipe.train.batch, len(rows.ids)) / recipe.train.accumulation / world.size
    return round(max(1.0, texts) * sum(map(len, rows.ids)) / len(rows.ids))


def _require_memory(recipe: Recipe, design: Design, world: World, lengths: Sequence[int]) -> None:
    """Raise an error if training on rows of these lengths does not fit into memory."""
    train = recipe.train
    batch = BatchShape(
        rows=-(-min(train.batch, len(lengths)) // world.size),
        parts=train.accumulation,
        row_tokens=sum(lengths) / len(lengths),
    )
    heads = design.heads.values()
    require_training_memory(recipe.model, recipe.tokenizer.vocab, heads, train, batch)


@dataclass(frozen=True)
class _Beginning:
    """The model before the first step: made once, and again if a training is restarted.

    To keep a copy of its weights would take their memory in every fine-tuning.
    """

    recipe: Recipe
    vocab: int
    design: Design
    start: Start
    world: World
    run: RunDirectory

    @property
    def probes(self) -> bool:
        """Whether the head begins as a linear probe: a head of the parent stays as it is."""
        is_asked = classification_of(self.recipe).start == "probe"
        return is_asked and not _keeps_head(self.design, self.start)

    def model(self, *, show_tensors: bool = False) -> tuple[Model, str | None]:
        """Return the model, its head not probed, and the hash of its parent's weights."""
        recipe = self.recipe
        model = build_model(recipe.model, self.vocab, self.design.heads, recipe.seed)
        digest = _load_weights(model, self.design, self.start, show_tensors=show_tensors)
        # A parent in training may change while the ranks read it.
        self.world.broadcast_weights(model)
        return model, digest

    def weights(self, recorded: Lineage) -> dict[str, Tensor]:
        """Return the weights once more; raise an error if they are not those of the lineage."""
        with quiet():
            model, _ = self.model()
            if self.probes:
                load_probe(self.run, model)
        expected, found = recorded.initial_base, base_hash(model)
        if found != expected or head_hash(model) != recorded.initial_head:
            raise MismatchError(
                "The weights that the training began with have changed: it cannot be restarted.",
                expected=f"a base with hash {expected[:12]}",
                found=f"{found[:12]}",
                hint="start again with --overwrite",
            )
        return model.state_dict()


def _load_weights(model: Model, design: Design, start: Start, *, show_tensors: bool) -> str | None:
    """Load the parent's weights, with its head if that has the same labels; return their hash."""
    parent = start.parent
    if parent is None:
        notice("from scratch: all weights are new")
        return None
    weights, digest = run_weights(parent)
    taken = transfer(model, weights, parent.name, keep_heads=_keeps_head(design, start))
    notice(taken.describe(parent.name, show_tensors))
    return digest


def _keeps_head(design: Design, start: Start) -> bool:
    """Whether the head is that of the parent: it has the same labels and the same shape."""
    if start.parent is None or start.new_head:
        return False
    before = start.parent.manifest()
    return before.labels == design.labels and before.heads == design.heads


def _train(
    run: RunDirectory, members: Members, compute: Compute, side_by_side: SideBySide
) -> TrainingState:
    """Train the models of the soup, which is one training by default."""
    shared, model, world = members.shared, members.model, members.world
    parts, design, soup = shared.parts, shared.design, shared.recipe.train.soup
    notice(
        f"fine-tune: {len(parts.train):,} texts, {len(parts.labels)} classes, "
        f"{len(parts.valid):,} held out, reading {design.direction}, pooler {design.head.pooler}"
    )
    evaluate = members.held_out.evaluate
    if side_by_side.jobs == 1:
        return fit_soup(run, model, members.train, evaluate, soup=soup, world=world)
    train_ahead(run, shared, compute, model, side_by_side)

    def load_member(member: int, into: RunDirectory) -> TrainingState:
        # Its last checkpoint is there: nothing is left to train, nor to track.
        with quiet():
            return members.train(member, RunDirectory(into.path))

    return fit_soup(run, model, load_member, evaluate, soup=soup, world=world)

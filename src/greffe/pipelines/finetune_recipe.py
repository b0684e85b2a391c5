"""What a fine-tuning works with: its start, recipe, tokenizer, direction, pooler and masking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from greffe.config.components import Direction
from greffe.config.option_groups import OptionGroup
from greffe.config.options import Training
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.sections import Classification, Pooler, TrainSpec
from greffe.data.native_tokenizer import train_tokenizer
from greffe.data.pieces import LOWERCASE
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer
from greffe.errors import RecipeError
from greffe.model.weights import check_same_architecture
from greffe.objectives.masking import Masker, MaskingSpec
from greffe.progress import notice
from greffe.run import RunDirectory
from greffe.training.checkpoint import load_model, load_tokenizer


@dataclass(frozen=True, kw_only=True)
class Start(OptionGroup):
    """What a fine-tuning starts from: a parent's weights, or fresh ones."""

    parent: RunDirectory | None = None
    """The run whose weights are fine-tuned."""
    like: RunDirectory | None = None
    """Without a parent: the run whose architecture is used with fresh weights."""
    new_head: bool = False
    """Use a fresh head even if the parent's head has the same labels."""

    @property
    def model_of(self) -> RunDirectory | None:
        """The run that the architecture and the tokenizer come from; None: a recipe says."""
        return self.parent or self.like


def check_start(start: Start) -> None:
    """Raise an error unless the tokenizer, and the weights of a parent, can be loaded."""
    if start.model_of is not None:
        load_tokenizer(start.model_of)
    if start.parent is not None:
        load_model(start.parent)


def finetune_recipe(start: Start, training: Training, afterwards: Recipe | None = None) -> Recipe:
    """Return the base's recipe with [finetune] as [train] and [classification] as [objective].

    `afterwards` is the recipe for fine-tunings that start from the result, if it differs.
    """
    given = _given_recipe(training)
    base = start.model_of.recipe() if start.model_of is not None else given
    if base is None:
        raise RecipeError(
            "There is nothing to fine-tune.",
            expected="--from RUN, or --scratch with --like RUN or --recipe NAME",
        )
    source = given or base
    recipe = base.model_copy(
        update={
            "objective": source.classification,
            "train": TrainSpec.model_validate(source.finetune.model_dump()),
            "finetune": source.finetune,
            "classification": source.classification,
        }
    ).with_changes(_changes(training))
    if not isinstance(recipe.objective, Classification):
        raise RecipeError(
            f"Fine-tuning trains a classifier: its objective cannot be {recipe.objective.kind!r}.",
            expected="objective.kind = classification",
            hint="greffe pretrain --from RUN continues with another language objective",
        )
    if start.parent is not None:
        check_same_architecture(start.parent.recipe().model, recipe.model, start.parent.name)
    elif recipe.train.lora.rank:
        notice("from scratch: all weights are trained, without LoRA, which is for trained bases")
        recipe = recipe.with_changes(["train.lora.rank=0"])
    if afterwards is None:
        return recipe
    then = {"finetune": afterwards.finetune, "classification": afterwards.classification}
    return recipe.model_copy(update=then)


def _given_recipe(training: Training) -> Recipe | None:
    if training.recipe is None or isinstance(training.recipe, Recipe):
        return training.recipe
    return load_recipe(training.recipe)


def _changes(training: Training) -> list[str]:
    """Return flags and --set as changes of the run's own [train] and [objective]."""
    changes = training.flag_changes()
    for change in training.changes:
        if change.startswith("finetune."):
            change = change.replace("finetune.", "train.", 1)
        elif change.startswith("classification."):
            change = change.replace("classification.", "objective.", 1)
        changes.append(change)
    if any(change.partition("=")[0].strip() == "train.budget" for change in changes):
        # The recipe's least steps and soup belong to its own budget, not to the user's.
        changes = ["train.least_steps=0", "train.soup=1", *changes]
    return changes


def classification_of(recipe: Recipe) -> Classification:
    """Return the objective of a fine-tuning's recipe."""
    assert isinstance(recipe.objective, Classification)
    return recipe.objective


def choose_tokenizer(
    model_of: RunDirectory | None, recipe: Recipe, examples: Sequence[Example]
) -> Tokenizer:
    """Return the run's tokenizer, or train a new one; lowercased if the recipe says so."""
    lowercase = classification_of(recipe).lowercase
    if model_of is not None:
        tokenizer = load_tokenizer(model_of)
        if tokenizer.lowercases and not lowercase:
            notice(f"{model_of.name} lowercases its texts, and so will the classifier")
        return tokenizer.lowercased() if lowercase else tokenizer
    texts = (example.text for example in examples)
    return train_tokenizer(texts, recipe.tokenizer, [LOWERCASE] if lowercase else [])


def build_masker(ratio: float, tokenizer: Tokenizer) -> Masker | None:
    """Return what hides tokens of training texts behind <mask>, if the recipe hides any."""
    if ratio == 0:
        return None
    return Masker(MaskingSpec(ratio=ratio, mask=1.0, random=0.0), tokenizer)


def directions_of(
    model_of: RunDirectory | None, recipe: str | Path | Recipe | None
) -> list[Direction]:
    """Return the directions in which the base can read."""
    if model_of is not None:
        return model_of.manifest().directions
    assert recipe is not None
    given = recipe if isinstance(recipe, Recipe) else load_recipe(recipe)
    return list(given.objective.directions)


def choose_direction(spec: Classification, directions: Sequence[Direction]) -> Direction:
    """Return the recipe's direction; for auto, bidirectional if the base was trained for it."""
    if spec.direction != "auto":
        return spec.direction
    return "bidirectional" if "bidirectional" in directions else "causal"


def choose_pooler(spec: Classification, direction: Direction) -> Pooler:
    """Return the recipe's pooler; for auto, the last token if causal, else the mean."""
    if spec.pooler != "auto":
        return spec.pooler
    return "last" if direction == "causal" else "mean"

"""What a fine-tuning works with: its recipe, its tokenizer, how its base reads, what is hidden."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from greffe.config.classification import Classification, Pooler
from greffe.config.components import Direction
from greffe.config.options import Reading
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.config.sections import TokenizerSpec, TrainSpec
from greffe.data.pieces import LOWERCASE
from greffe.data.tables import Example
from greffe.data.tokenizer import Tokenizer, train_tokenizer
from greffe.errors import RecipeError
from greffe.objectives.masking import Masker, MaskingSpec
from greffe.progress import notice
from greffe.run import RunDirectory
from greffe.training.checkpoint import load_tokenizer


class FinetuneOptions(TypedDict):
    """What a user says of a fine-tuning, apart from its texts, its weights and its folder."""

    recipe: str | Path | Recipe | None
    budget: str | None
    seed: int | None
    soup: int | None
    changes: Sequence[str]
    options: Reading | None
    show_tensors: bool


def finetune_recipe(
    model_of: RunDirectory | None,
    recipe: str | Path | Recipe | None,
    budget: str | None,
    seed: int | None,
    changes: Sequence[str],
    *,
    soup: int | None = None,
) -> Recipe:
    """The base's recipe with [finetune] as [train] and [classification] as [objective]."""
    given = None
    if recipe is not None:
        given = recipe if isinstance(recipe, Recipe) else load_recipe(recipe)
    base = model_of.recipe() if model_of is not None else given
    assert base is not None
    teaching = given or base
    chosen = base.model_copy(
        update={
            "objective": teaching.classification,
            "train": TrainSpec.model_validate(teaching.finetune.model_dump()),
            "finetune": teaching.finetune,
            "classification": teaching.classification,
        }
    )
    flags = [f"train.budget={budget!r}"] if budget is not None else []
    flags += [f"seed={seed}"] if seed is not None else []
    flags += [f"train.soup={soup}"] if soup is not None else []
    # In a fine-tuning, [finetune] and [classification] are the run's [train] and [objective].
    meant = [
        change.replace("finetune.", "train.", 1)
        if change.startswith("finetune.")
        else change.replace("classification.", "objective.", 1)
        if change.startswith("classification.")
        else change
        for change in changes
    ]
    wanted = [*flags, *meant]
    if any(change.partition("=")[0].strip() == "train.budget" for change in wanted):
        # Whoever says how long means it: the recipe's least steps and members belong to its own
        # budget.
        wanted = ["train.least_steps=0", "train.soup=1", *wanted]
    changed = chosen.with_changes(wanted)
    if not isinstance(changed.objective, Classification):
        raise RecipeError(
            f"Fine-tuning teaches classes: its objective cannot be {changed.objective.kind!r}.",
            expected="objective.kind = classification",
            hint="greffe pretrain --from RUN goes on with another language objective",
        )
    return changed


def choose_tokenizer(
    model_of: RunDirectory | None,
    spec: TokenizerSpec,
    reading: Classification,
    examples: Sequence[Example],
) -> Tokenizer:
    """That of the run that is built on, else a new one; for small letters if the recipe says."""
    if model_of is not None:
        tokenizer = load_tokenizer(model_of)
        if tokenizer.lowercases and not reading.lowercase:
            notice(f"{model_of.name} reads small letters, and so will what is grafted onto it")
        return tokenizer.lowercased() if reading.lowercase else tokenizer
    texts = (example.text for example in examples)
    return train_tokenizer(texts, spec, [LOWERCASE] if reading.lowercase else [])


def build_masker(share: float, tokenizer: Tokenizer) -> Masker | None:
    """What hides tokens of training texts behind <mask>, if any are to be hidden."""
    if share == 0:
        return None
    return Masker(MaskingSpec(ratio=share, mask=1.0, random=0.0), tokenizer)


def directions_of(
    model_of: RunDirectory | None, recipe: str | Path | Recipe | None
) -> list[Direction]:
    """In which ways the base can read."""
    if model_of is not None:
        return model_of.manifest().directions
    assert recipe is not None
    given = recipe if isinstance(recipe, Recipe) else load_recipe(recipe)
    return list(given.objective.directions)


def choose_direction(spec: Classification, directions: Sequence[Direction]) -> Direction:
    """As the recipe says; left to itself, both ways if the base learnt to."""
    if spec.direction != "auto":
        return spec.direction
    return "bidirectional" if "bidirectional" in directions else "causal"


def choose_pooler(spec: Classification, direction: Direction) -> Pooler:
    """As the recipe says; left to itself, where a base of this direction knows most."""
    if spec.pooler != "auto":
        return spec.pooler
    return "last" if direction == "causal" else "mean"

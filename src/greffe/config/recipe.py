"""Recipe: every choice of a run, frozen and typed, read from and written as TOML.

Knows nothing of torch, data or runs. The docstring under each field is its help text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

import tomli_w
from pydantic import Field, ValidationError, model_validator

from greffe.config.bounds import Name, Seed
from greffe.config.changes import apply_changes
from greffe.config.components import ObjectiveSpec
from greffe.config.families import apply_family
from greffe.config.sections import Classification, FinetuneSpec, ModelSpec, TokenizerSpec, TrainSpec
from greffe.config.spec import Spec
from greffe.config.validation import explain


class Recipe(Spec):
    """Every choice of a run."""

    name: Name = "custom"
    """Name of the recipe."""
    seed: Seed = 0
    """Seed of the initial weights, the order of the data and all random corruption."""
    warm_start: Literal["none", "word_vectors"] = "none"
    """Initial embedding: none (random; with --new-vocab, from the old tokens) or word_vectors
    (counted in the corpus)."""
    tokenizer: TokenizerSpec = TokenizerSpec()
    """How text is split into tokens."""
    model: ModelSpec = Field(default_factory=ModelSpec)
    """Shape of the base."""
    objective: ObjectiveSpec = Field(default_factory=lambda: ObjectiveSpec.of_kind("masked"))
    """What is learned, for example { kind = "causal" }."""
    train: TrainSpec = TrainSpec()
    """Pretraining."""
    finetune: FinetuneSpec = FinetuneSpec()
    """Fine-tuning of this base; a fine-tuned run has these choices in [train]."""
    classification: Classification = Classification()
    """Objective of fine-tuning; a fine-tuned run has these choices in [objective]."""

    @model_validator(mode="after")
    def _check_sections(self) -> Self:
        if self.train.soup > 1 and self.objective.kind != "classification":
            raise ValueError(
                f"train.soup = 1 (found {self.train.soup}): only fine-tunings are averaged, "
                "by finetune.soup"
            )
        levels = self.model.layers + 1
        for section, spec in (("train", self.train), ("finetune", self.finetune)):
            if spec.freeze != "base" and spec.freeze > levels:
                raise ValueError(
                    f"{section}.freeze = {levels} or less (found {spec.freeze}): the model has an "
                    f"embedding and {self.model.layers} blocks"
                )
            try:
                spec.lora.check(self.model)
            except ValueError as error:
                raise ValueError(f"{section}.{error}") from None
        return self

    def to_toml(self) -> str:
        """Return the whole recipe as TOML, defaults included."""
        return tomli_w.dumps(self.model_dump(mode="json"))

    def with_changes(self, changes: Iterable[str]) -> Recipe:
        """Return a copy with `a.b=value` assignments applied; values are TOML or plain words.

        A change of model.family brings the other choices of the family, before all other changes.
        """
        tree = self.model_dump(mode="json")
        changes = list(changes)
        apply_family(tree, changes)
        apply_changes(tree, changes, Recipe)
        return recipe_from_dict(tree, "recipe")

    def with_vocab(self, size: int) -> Recipe:
        """Return a copy with the actual vocabulary size of its tokenizer."""
        return self.model_copy(
            update={"tokenizer": self.tokenizer.model_copy(update={"vocab": size})}
        )


def recipe_from_dict(tree: Mapping[str, Any], source: str) -> Recipe:
    """Validate a recipe; a RecipeError names the key, what it accepts and what was found."""
    try:
        return Recipe.model_validate(tree, strict=True)  # true is not 1, and "3" is not 3
    except ValidationError as error:
        raise explain(error, source, Recipe, tree) from None

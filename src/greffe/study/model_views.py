"""What a report shows of runs themselves: parameters, mask and positions, samples."""

from __future__ import annotations

from collections.abc import Sequence

from greffe.config.components import HeadSpec
from greffe.inference.language_samples import LanguageSample, language_samples
from greffe.inference.matrices import Matrix, model_matrices
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.parameters import ParameterRow, account
from greffe.run import RunDirectory
from greffe.training.checkpoint import load_model, load_tokenizer

GREETING = "Bonjour les"
"""The lab's prompt, for a base whose text was French."""


def parameter_rows(run: RunDirectory, classes: int | None = None) -> list[ParameterRow]:
    """Return every block of a run's model, with a further head for so many classes if given."""
    recipe, manifest = run.recipe(), run.manifest()
    heads: dict[str, HeadSpec] = dict(manifest.heads)
    if classes is not None:
        heads["classification"] = ClassificationHead(classes=classes, pooler="mean")
    return account(recipe.model, manifest.vocab, heads).rows


def pictures_of(run: RunDirectory) -> list[Matrix]:
    """Return the attention mask and the positions of a run's model."""
    manifest, spec = run.manifest(), run.recipe().model
    directions = [manifest.direction] if manifest.direction else manifest.directions
    position = load_model(run).base.position
    mask, *others = (
        model_matrices(spec, direction == "causal", position) for direction in directions
    )
    # A base that reads both ways has two masks and one set of positions.
    return [mask[0], *(other[0] for other in others), *mask[1:]]


def samples_of(
    name: str, run: RunDirectory, texts: Sequence[str], seed: int = 0
) -> list[LanguageSample]:
    """Return texts that a language model continues and masks that it fills in."""
    knows_french = load_tokenizer(run).word_id("Bonjour") is not None
    prompts = [GREETING] if knows_french else []
    return language_samples(run, prompts, seed, texts=texts, name=name)

"""What a report shows of runs themselves: parameters, mask and positions, samples of their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from greffe.config.components import HeadSpec
from greffe.data.pieces import SPACE
from greffe.data.tables import Example
from greffe.inference.language_samples import language_samples
from greffe.inference.pictures import pictures
from greffe.model.heads.classification import ClassificationHead
from greffe.model.parameters import account
from greffe.run import RunDirectory
from greffe.study.arms import PlannedArm
from greffe.study.document import Matrix, ParameterRow, Sample
from greffe.training.checkpoint import load_model, load_tokenizer

GREETING = "Bonjour les"
"""The lab's own prompt, for a base whose text was French."""
SHOWN_TEXTS = 6


def parameter_rows(run: RunDirectory, classes: int | None = None) -> list[ParameterRow]:
    """Every block of a run's model, with a classifier of so many classes beside its own heads."""
    recipe, manifest = run.recipe(), run.manifest()
    heads: dict[str, HeadSpec] = dict(manifest.heads)
    if classes is not None:
        heads["classification"] = ClassificationHead(classes=classes, pooler="mean")
    counted = account(recipe.model, manifest.vocab, heads)
    totals = {"base", *(row.block for row in counted.totals.values())}
    return [ParameterRow(**asdict(row), is_total=row.block in totals) for row in counted.rows]


def parameter_tables(arms: Sequence[PlannedArm], classes: int) -> dict[str, list[ParameterRow]]:
    """One table for each base, by the name of its arm."""
    return {
        arm.name: parameter_rows(arm.run, classes)
        for arm in arms
        if arm.presents_base and arm.run is not None
    }


def pictures_of(run: RunDirectory) -> list[Matrix]:
    """The square mask and the positional encoding of this very model."""
    manifest, spec = run.manifest(), run.recipe().model
    directions = [manifest.direction] if manifest.direction else manifest.directions
    position = load_model(run).base.position
    mask, *others = (pictures(spec, direction == "causal", position) for direction in directions)
    # A base that reads both ways has two masks and one set of positions.
    shown = [mask[0], *(other[0] for other in others), *mask[1:]]
    return [Matrix(**asdict(picture)) for picture in shown]


def samples_of(name: str, run: RunDirectory, texts: Sequence[str], seed: int = 0) -> list[Sample]:
    """What a language model continues and fills in."""
    knows_french = load_tokenizer(run).id_of(f"{SPACE}Bonjour") is not None
    prompts = [GREETING] if knows_french else []
    return [
        Sample(run=name, **asdict(sample))
        for sample in language_samples(run, prompts, seed, texts=texts)
    ]


def samples_of_arms(arms: Sequence[PlannedArm], examples: Sequence[Example]) -> list[Sample]:
    """The same for every base of a study, from the beginnings of its own texts."""
    texts = [example.text for example in examples[:SHOWN_TEXTS]]
    return [
        sample
        for arm in arms
        if arm.presents_base and arm.run is not None
        for sample in samples_of(arm.name, arm.run, texts)
    ]

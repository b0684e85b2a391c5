"""Folders that bring the code of their model along: what greffe writes there, and reads again."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any, ClassVar, Literal

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec
from greffe.interop.foreign_base import PretrainedAs
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import (
    LANGUAGE_HEADS,
    Family,
    ForeignHead,
    Layout,
    Parts,
    SpecialIds,
    copied,
)
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import empty_model
from greffe.run import Manifest

CODE = ("configuration_greffe.py", "layers_greffe.py", "modeling_greffe.py")
OWN_CLASSES = {
    "": "GreffeModel",
    "next_token": "GreffeForCausalLM",
    "masked_token": "GreffeForMaskedLM",
    "classification": "GreffeForSequenceClassification",
}
AUTO_CLASSES = {
    "": "AutoModel",
    "next_token": "AutoModelForCausalLM",
    "masked_token": "AutoModelForMaskedLM",
    "classification": "AutoModelForSequenceClassification",
}
"""By head, as in OWN_CLASSES."""


class Own(Family):
    """Every model of greffe, under its own names. It is no family of others: it has no name."""

    model_types: ClassVar[tuple[str, ...]] = ("greffe",)
    objective: ClassVar[Literal["masked", "causal"]] = "masked"
    prefix: ClassVar[str] = "base."
    classes: ClassVar[Mapping[str, str]] = OWN_CLASSES

    def model(self, config: Config) -> dict[str, Any]:
        known = ModelSpec.model_fields.keys() & config.values.keys()
        return {name: config.values[name] for name in known}

    def choices(self, model: ModelSpec, special: SpecialIds) -> dict[str, Any]:
        # A tied head computes with the embedding itself: transformers has nothing to tie.
        return {**model.model_dump(mode="json"), "tie_word_embeddings": False}

    def pretrained_as(self, config: Config) -> PretrainedAs:
        classes = config.values.get("architectures")
        known = classes if isinstance(classes, list) else []
        if OWN_CLASSES["next_token"] in known and OWN_CLASSES["masked_token"] in known:
            return "hybrid"
        return "causal" if config.flag("causal", False) else "masked"

    def layout(self, model: ModelSpec, config: Config) -> Layout:
        specs = {kind: HeadSpec.kinds()[kind].for_model(model) for kind in LANGUAGE_HEADS}
        names = list(empty_model(model, self.vocab(config), specs).state_dict())

        def parts(prefix: str) -> Parts:
            own = [name for name in names if name.startswith(prefix)]
            return {name.removeprefix(prefix): copied(name) for name in own}

        return Layout(
            base=parts("base."),
            heads={
                kind: ForeignHead(spec, parts(f"heads.{kind}.")) for kind, spec in specs.items()
            },
            ignored=("heads.classification.*",),
        )


def own_config(model: ModelSpec, manifest: Manifest, special: SpecialIds) -> dict[str, Any]:
    """Return the config.json of a model whose code is in the folder."""
    kinds = [kind for kind in OWN_CLASSES if kind in manifest.heads]
    directions = [manifest.direction] if manifest.direction else manifest.directions
    return {
        **Own().config(model, manifest.vocab, special).values,
        "architectures": [OWN_CLASSES[kind] for kind in kinds] or [OWN_CLASSES[""]],
        "auto_map": {
            "AutoConfig": "configuration_greffe.GreffeConfig",
            **{AUTO_CLASSES[kind]: f"modeling_greffe.{OWN_CLASSES[kind]}" for kind in ("", *kinds)},
        },
        "causal": directions == ["causal"],
        **_classes(manifest),
    }


def _classes(manifest: Manifest) -> dict[str, Any]:
    head = manifest.heads.get("classification")
    if not isinstance(head, ClassificationHead):
        return {}
    return {
        "id2label": {str(number): label for number, label in enumerate(manifest.labels)},
        "label2id": {label: number for number, label in enumerate(manifest.labels)},
        "problem_type": "single_label_classification",
        "pooler": head.pooler,
        "classifier_dropout": head.dropout,
    }


def code(name: str) -> bytes:
    """Return a file of the code that goes along with a model."""
    folder = resources.files("greffe") / "interop" / "huggingface" / "remote_code"
    return (folder / name).read_bytes()

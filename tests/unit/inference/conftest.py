"""Small models with lively weights, so that no two scores are nearly equal by chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
import torch

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec, Pooler
from greffe.data.tokenizer import Tokenizer
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model, build_model

HEADS: dict[str, HeadSpec] = {
    "next_token": NextTokenHead(),
    "masked_token": MaskedTokenHead(),
    "classification": ClassificationHead(classes=3, pooler="mean", dropout=0.5),
}
MakeModel = Callable[..., Model]
Calls = list[dict[str, Any]]


@pytest.fixture
def make_model(tiny_tokenizer: Tokenizer) -> MakeModel:
    """make_model("next_token", context=16, …): chosen heads on a small base with dropout."""

    def make(
        *kinds: str, classification: ClassificationHead | None = None, **choices: Any
    ) -> Model:
        spec = ModelSpec(
            **{
                "width": 16,
                "layers": 2,
                "heads": 2,
                "feed_forward": 32,
                "context": 16,
                "dropout": 0.3,
                **choices,
            }
        )
        heads = {kind: HEADS[kind] for kind in kinds}
        if classification is not None:
            heads["classification"] = classification
        model = build_model(spec, tiny_tokenizer.size, heads, seed=3)
        with torch.no_grad():
            for number, parameter in enumerate(model.parameters()):
                if parameter.ndim == 2:
                    generator = torch.Generator().manual_seed(number)
                    parameter.normal_(0.0, 0.4, generator=generator)
        # Training mode on purpose: inference has to switch dropout off by itself.
        return model.train()

    return make


@pytest.fixture
def make_wide(make_model: MakeModel) -> MakeModel:
    """make_wide("classification", classes=3, …): the same with a context of 64."""

    def make(*kinds: str, classes: int = 2, pooler: Pooler = "mean", **choices: Any) -> Model:
        head = ClassificationHead(classes=classes, pooler=pooler, dropout=0.5)
        chosen = {"classification": head} if "classification" in kinds else {}
        return make_model(*kinds, **chosen, **{"context": 64, **choices})

    return make


@pytest.fixture
def watch() -> Callable[[Model], AbstractContextManager[Calls]]:
    """`with watch(model) as calls`: ids and options of each forward pass of the base."""

    @contextmanager
    def watching(model: Model) -> Iterator[Calls]:
        calls: Calls = []

        def note(module: torch.nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> None:
            calls.append({"ids": args[0].clone(), **options})

        handle = model.base.register_forward_pre_hook(note, with_kwargs=True)
        try:
            yield calls
        finally:
            handle.remove()

    return watching

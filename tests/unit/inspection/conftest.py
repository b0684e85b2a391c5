"""Small models with lively weights over the toy vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from greffe.config import ClassificationHead, HeadSpec, MaskedTokenHead, ModelSpec, NextTokenHead
from greffe.data.tokenizer import Tokenizer
from greffe.model.model import Model, build_model

MakeModel = Callable[..., Model]


@pytest.fixture
def make_model(tiny_tokenizer: Tokenizer) -> MakeModel:
    """make_model("classification", classes=3, context=16, …), in training mode on purpose."""

    def make(*kinds: str, classes: int = 2, **choices: Any) -> Model:
        specs: dict[str, HeadSpec] = {
            "next_token": NextTokenHead(),
            "masked_token": MaskedTokenHead(),
            "classification": ClassificationHead(classes=classes, dropout=0.5),
        }
        shape = {"width": 16, "layers": 2, "heads": 2, "feed_forward": 32, "context": 64}
        spec = ModelSpec(**{**shape, "dropout": 0.3, **choices})
        heads = {kind: specs[kind] for kind in kinds}
        model = build_model(spec, tiny_tokenizer.size, heads, seed=3)
        with torch.no_grad():
            for number, parameter in enumerate(model.parameters()):
                if parameter.ndim == 2:
                    generator = torch.Generator().manual_seed(number)
                    parameter.normal_(0.0, 0.4, generator=generator)
        return model.train()

    return make

"""Fixtures that many tests share: toy sentences and a tokenizer trained on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from greffe.config import TokenizerSpec
from greffe.seeding import rng

if TYPE_CHECKING:
    from greffe.data.tokenizer import Tokenizer

torch.set_num_threads(1)

_SUBJECTS = ["Ce livre", "Ce roman", "Le film", "Cette histoire", "Le récit", "Un ouvrage"]
_VERBS = ["est", "était", "semble", "reste", "devient"]
_ADVERBS = ["", "très", "vraiment", "toujours", "plutôt"]
_ADJECTIVES = ["magnifique", "ennuyeux", "long", "beau", "triste", "excellent", "décevant"]
_ENDINGS = [".", " !", ", hélas.", " et je le relirai.", " mais trop court."]


@pytest.fixture(scope="session")
def tiny_texts() -> list[str]:
    """Four hundred toy reviews in something like French."""
    draw = rng(0, "tiny texts")
    return [
        " ".join(
            word
            for word in (
                draw.choice(_SUBJECTS),
                draw.choice(_VERBS),
                draw.choice(_ADVERBS),
                draw.choice(_ADJECTIVES),
            )
            if word
        )
        + str(draw.choice(_ENDINGS))
        for _ in range(400)
    ]


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_texts: list[str]) -> Tokenizer:
    """A small BPE vocabulary of these texts."""
    from greffe.data.tokenizer import train_tokenizer

    return train_tokenizer(tiny_texts, TokenizerSpec(kind="bpe", vocab=600))

"""Filling, generating and attribution with tokenizers of other models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.unit.data.foreign import KINDS, read

from greffe.config.sections import ModelSpec
from greffe.data.tokenizer import Tokenizer
from greffe.inference.attribution import word_weights
from greffe.inference.fill import fill
from greffe.inference.generate import generate_text
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.heads.masked_token_head import MaskedTokenHead
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.model import Model, build_model

ROWS = 510


def model() -> Model:
    heads: dict[str, Any] = {
        "masked_token": MaskedTokenHead(),
        "next_token": NextTokenHead(),
        "classification": ClassificationHead(classes=2),
    }
    spec = ModelSpec(width=8, layers=1, heads=2, feed_forward=16, context=32)
    return build_model(spec, ROWS, heads, seed=1)


def favour(model: Model, head: str, *ids: int) -> None:
    with torch.no_grad():
        for rank, id in enumerate(ids):
            model.vocabulary_head(head).bias[id] = 1e3 - 100 * rank


def known(tokenizer: Tokenizer, *pieces: str) -> list[int]:
    return [id for piece in pieces if (id := tokenizer.id_of(piece)) is not None]


@pytest.mark.parametrize(
    ("kind", "pieces"),
    [
        ("wordpiece cased", ("##vre", "livre")),
        ("roberta", ("vre", "Ġlivre")),
        ("roberta with space", ("vre", "Ġlivre")),
        ("modern", ("vre", "Ġlivre")),
    ],
)
def test_a_mask_by_either_name_is_filled(
    tmp_path: Path, kind: str, pieces: tuple[str, str]
) -> None:
    tokenizer = read(tmp_path, KINDS[kind](), rows=ROWS)
    made = model()
    favour(made, "masked_token", tokenizer.mask, *known(tokenizer, *pieces))
    for name in ("<mask>", tokenizer.mask_text):
        [[word]] = fill(made, tokenizer, f"Ce {name} est beau.", top=1)
        assert (word.word, word.text) == ("livre", "Ce livre est beau.")
        [[inside]] = fill(made, tokenizer, f"Ce li{name} est beau.", top=1)
        assert (inside.word, inside.text) == ("vre", "Ce livre est beau.")
    [[first], [second]] = fill(made, tokenizer, "Un <mask> ou <mask>.", top=1)
    assert first.text == "Un livre ou <mask>." and second.text == "Un <mask> ou livre."


@pytest.mark.parametrize("kind", ["gpt2", "llama", "llama legacy", "unigram", "word level"])
def test_generated_text_has_its_spaces(tmp_path: Path, kind: str) -> None:
    tokenizer = read(tmp_path, KINDS[kind](), rows=ROWS)
    made = model()
    id = tokenizer.word_id("le" if kind != "word level" else "livre")
    if id is None:  # a vocabulary without the word: its commonest piece after a space
        id = next(i for i in range(tokenizer.size) if (tokenizer.text_of(i) or "").startswith(" "))
    favour(made, "next_token", id)
    text = tokenizer.text_of(id)
    assert text is not None and text.startswith(" ")
    options: dict[str, Any] = {"tokens": 3, "temperature": 0, "repetition_penalty": 1.0}
    assert generate_text(made, tokenizer, "un livre", **options) == (
        tokenizer.normalize("un livre") + 3 * text
    )
    assert generate_text(made, tokenizer, "", **options).strip() == (3 * text).strip()


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("text", ["Un livre, le relire.", "", "livre " * 60])
def test_every_word_has_a_weight(tmp_path: Path, kind: str, text: str) -> None:
    tokenizer = read(tmp_path, KINDS[kind](), rows=ROWS)
    weights = word_weights(model(), tokenizer, ["bad", "good"], text, causal=True)
    assert "".join(word for word, _ in weights) == text
    assert max((abs(weight) for _, weight in weights), default=1) == 1

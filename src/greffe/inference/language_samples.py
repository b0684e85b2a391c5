"""Samples from a language model: continued prompts and filled masks, as its heads allow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

from pydantic import Field

from greffe.config.spec import Spec
from greffe.data.tokenizer import Tokenizer
from greffe.inference.fill import MASK, fill
from greffe.inference.generate import generate_text
from greffe.model.model import Model
from greffe.run import RunDirectory
from greffe.seeding import rng
from greffe.training.checkpoint import load_model, load_tokenizer

TEXTS = 2
PROMPT_WORDS = 3
GAP_WORDS = 24
_CONTENT_WORDS = re.compile(r"(?<= )[^\W\d_]{5,}")


class LanguageSample(Spec):
    """A generated text or a filled mask."""

    run: str
    """Name of the run, or empty."""
    kind: Literal["generated", "filled"]
    prompt: str
    text: str = ""
    """Prompt and continuation; empty for a filled mask."""
    words: list[tuple[str, float]] = Field(default_factory=list)
    """Words for the mask with their probabilities, most likely first."""


def language_samples(
    run: RunDirectory,
    prompts: Sequence[str],
    seed: int,
    *,
    texts: Sequence[str] = (),
    name: str | None = None,
) -> list[LanguageSample]:
    """Return samples from a run on disk, under its name or another; see `model_samples`."""
    model, tokenizer = load_model(run), load_tokenizer(run)
    named = run.name if name is None else name
    return model_samples(model, tokenizer, prompts, seed, texts=texts, run=named)


def model_samples(
    model: Model,
    tokenizer: Tokenizer,
    prompts: Sequence[str],
    seed: int,
    *,
    texts: Sequence[str] = (),
    run: str = "",
) -> list[LanguageSample]:
    """Continue the prompts and beginnings of texts, and fill masks in texts, as the heads allow.

    At most two texts are used for each; a text that already has a <mask> keeps it.
    """
    samples: list[LanguageSample] = []
    if "next_token" in model.heads:
        beginnings = (" ".join(text.split()[:PROMPT_WORDS]) for text in texts)
        chosen = [*prompts, *islice(filter(None, beginnings), TEXTS)]
        for prompt in dict.fromkeys(chosen):
            written = generate_text(model, tokenizer, prompt, seed=seed)
            samples.append(LanguageSample(run=run, kind="generated", prompt=prompt, text=written))
    if "masked_token" in model.heads:
        for gapped in islice(_gapped(tokenizer, texts, seed), TEXTS):
            first, *_ = fill(model, tokenizer, gapped)
            words = [(filling.word, filling.probability) for filling in first]
            samples.append(LanguageSample(run=run, kind="filled", prompt=gapped, words=words))
    return samples


def _gapped(tokenizer: Tokenizer, texts: Sequence[str], seed: int) -> Iterator[str]:
    """Yield beginnings of texts with one long word masked; texts without one are skipped."""
    for number, text in enumerate(texts):
        beginning = " ".join(text.split()[:GAP_WORDS])
        if MASK in beginning:
            yield beginning
            continue
        words = list(_CONTENT_WORDS.finditer(beginning))
        # A mask is filled by one piece: prefer words that are a single piece.
        single = [word for word in words if tokenizer.word_id(word.group()) is not None]
        if candidates := single or words:
            hidden = candidates[rng(seed, "gap", number).integers(len(candidates))]
            yield f"{beginning[: hidden.start()]}{MASK}{beginning[hidden.end() :]}"

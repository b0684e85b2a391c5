"""Labels and probabilities for texts: batched by length, streamed, long texts by windows.

Knows no files: texts come in, predictions go out in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from torch import Tensor

from greffe.config.recipe import ClassificationHead, LongTexts
from greffe.data.tokenizer import Tokenizer
from greffe.errors import MismatchError
from greffe.inference.batched import BATCH_TOKENS, forward_rows
from greffe.inference.forward import require_head
from greffe.model.model import Model

BLOCK_TEXTS = 512


@dataclass(frozen=True)
class Prediction:
    """What the model says of one text."""

    label: str
    score: float
    """Probability of the label."""
    probabilities: dict[str, float]
    windows: int = 1
    """Parts in which the text was read."""
    cut: int = 0
    """Tokens that were left out."""


def predict(
    model: Model,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    texts: Iterable[str],
    *,
    causal: bool,
    long: LongTexts = "windows",
    batch_tokens: int = BATCH_TOKENS,
) -> Iterator[Prediction]:
    """A prediction a text, in order; reads the texts in blocks, never all at once."""
    require_classifier(model, labels)
    # Checked above at the call, not at the first prediction asked for.
    return _predict(model, tokenizer, labels, texts, causal, long, batch_tokens)


def predict_ids(
    model: Model,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    documents: Sequence[np.ndarray],
    *,
    causal: bool,
    long: LongTexts = "windows",
    batch_tokens: int = BATCH_TOKENS,
) -> list[Prediction]:
    """Predictions for encoded texts (without <sos> and <eos>), all together."""
    require_classifier(model, labels)
    if not documents:
        return []
    room = model.spec.context - 2
    parts = [split_windows(ids, room, long) for ids in documents]
    rows = [tokenizer.wrap(part) for windows in parts for part in windows]
    logits = classify_logits(model, rows, tokenizer.pad, causal, batch_tokens)
    shares = logits.double().softmax(-1).numpy()  # [windows of all texts, classes]
    predictions = []
    first = 0
    for ids, windows in zip(documents, parts, strict=True):
        sizes = np.array([len(part) for part in windows])
        # A lone window counts fully, even that of an empty text.
        weights = sizes if len(windows) > 1 else None
        mean = np.average(shares[first : first + len(windows)], axis=0, weights=weights)
        first += len(windows)
        best = int(mean.argmax())
        predictions.append(
            Prediction(
                label=labels[best],
                score=float(mean[best]),
                probabilities=dict(zip(labels, mean.tolist(), strict=True)),
                windows=len(windows),
                cut=len(ids) - int(sizes.sum()),
            )
        )
    return predictions


def classify_logits(
    model: Model,
    rows: Sequence[np.ndarray],
    pad: int,
    causal: bool,
    batch_tokens: int = BATCH_TOKENS,
) -> Tensor:
    """Class scores [N, classes] of rows <sos>…<eos>, in their order; on the CPU."""
    return forward_rows(
        model,
        rows,
        lambda ids, lengths: model(ids, "classification", causal=causal, lengths=lengths),
        _classes(model),
        pad=pad,
        batch_tokens=batch_tokens,
    )


def split_windows(ids: np.ndarray, room: int, long: LongTexts) -> list[np.ndarray]:
    """Parts of at most `room` tokens: equal windows over all of them, or the beginning alone."""
    if long == "cut":
        return [ids[:room]]
    return np.array_split(ids, max(1, -(-len(ids) // room)))


def describe_cut(texts: int, tokens: int, context: int) -> str:
    """The notice for texts that were cut, counted over all of them."""
    return (
        f"{texts} {'text was' if texts == 1 else 'texts were'} longer than the model's context of "
        f"{context} tokens and cut: {tokens} tokens were not read (windows read all of a text)"
    )


def _predict(
    model: Model,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    texts: Iterable[str],
    causal: bool,
    long: LongTexts,
    batch_tokens: int,
) -> Iterator[Prediction]:
    stream = iter(texts)
    while block := list(islice(stream, BLOCK_TEXTS)):
        documents = tokenizer.encode_batch(block)
        yield from predict_ids(
            model,
            tokenizer,
            labels,
            documents,
            causal=causal,
            long=long,
            batch_tokens=batch_tokens,
        )


def require_classifier(model: Model, labels: Sequence[str]) -> None:
    """An error unless the model has a head for exactly these labels."""
    require_head(
        model,
        "classification",
        purpose="predict labels",
        hint="greffe finetune --from RUN --data TABLE makes a classifier of a language model",
    )
    classes = _classes(model)
    if classes != len(labels):
        raise MismatchError(
            "The labels do not belong to this model.",
            expected=f"{classes} labels, one for each output of the head",
            found=f"{len(labels)}: {', '.join(labels)}",
        )


def _classes(model: Model) -> int:
    spec = model.head_specs["classification"]
    assert isinstance(spec, ClassificationHead)
    return spec.classes

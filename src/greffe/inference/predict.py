"""Predict labels and probabilities of texts: streamed, batched by length, long texts in windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from torch import Tensor

from greffe.config.options import LongTexts
from greffe.data.tables import text_blocks
from greffe.data.tokenizer import Tokenizer
from greffe.errors import MismatchError
from greffe.inference.batched import BATCH_TOKENS, forward_rows
from greffe.inference.forward import require_finite, require_head
from greffe.inference.prediction import Prediction, mean_over_windows, split_windows
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import Model


def predict(
    model: Model,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    texts: Iterable[str],
    *,
    causal: bool,
    long: LongTexts = "windows",
    batch_tokens: int = BATCH_TOKENS,
    temperature: float = 1.0,
) -> Iterator[Prediction]:
    """Yield one prediction per text, in order; texts are consumed in blocks."""
    require_classifier(model, labels)
    # A generator function would check its arguments only when the first result is requested.
    return _predict(model, tokenizer, labels, texts, causal, long, batch_tokens, temperature)


def predict_ids(
    model: Model,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    documents: Sequence[np.ndarray],
    *,
    causal: bool,
    long: LongTexts = "windows",
    batch_tokens: int = BATCH_TOKENS,
    temperature: float = 1.0,
) -> list[Prediction]:
    """Return the predictions for encoded texts (without <sos> and <eos>)."""
    require_classifier(model, labels)
    if not documents:
        return []
    longest = model.spec.context - 2
    texts = [split_windows(ids, longest, long) for ids in documents]
    probabilities = class_probabilities(
        model,
        tokenizer,
        texts,
        causal=causal,
        batch_tokens=batch_tokens,
        temperature=temperature,
    )
    require_finite(probabilities)
    return [
        Prediction.of(labels, row, windows=len(windows), cut=len(ids) - sum(map(len, windows)))
        for ids, windows, row in zip(documents, texts, probabilities, strict=True)
    ]


def class_probabilities(
    model: Model,
    tokenizer: Tokenizer,
    texts: Sequence[Sequence[np.ndarray]],
    *,
    causal: bool,
    batch_tokens: int = BATCH_TOKENS,
    temperature: float = 1.0,
) -> np.ndarray:
    """Return probabilities [N, classes] of texts in windows: the mean, weighted by their lengths.

    They are not finite if the weights are too large to compute with.
    """
    logits = window_logits(model, tokenizer, texts, causal=causal, batch_tokens=batch_tokens)
    scaled = logits.double() / temperature
    probabilities = scaled.softmax(-1).numpy()  # [windows of all texts, classes]
    return mean_over_windows(probabilities, texts)


def window_logits(
    model: Model,
    tokenizer: Tokenizer,
    texts: Sequence[Sequence[np.ndarray]],
    *,
    causal: bool,
    batch_tokens: int = BATCH_TOKENS,
) -> Tensor:
    """Return the logits [windows of all texts, classes], in the order of the texts."""
    rows = [tokenizer.wrap(window) for windows in texts for window in windows]
    return classify_logits(model, rows, tokenizer.pad, causal, batch_tokens)


def classify_logits(
    model: Model,
    rows: Sequence[np.ndarray],
    pad: int,
    causal: bool,
    batch_tokens: int = BATCH_TOKENS,
) -> Tensor:
    """Return the logits [N, classes] of rows <sos>…<eos>, in input order, on the CPU."""
    return forward_rows(
        model,
        rows,
        lambda ids, lengths: model(ids, "classification", causal=causal, lengths=lengths),
        _classes(model),
        pad=pad,
        batch_tokens=batch_tokens,
    )


def _predict(
    model: Model,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    texts: Iterable[str],
    causal: bool,
    long: LongTexts,
    batch_tokens: int,
    temperature: float,
) -> Iterator[Prediction]:
    for block in text_blocks(texts):
        documents = tokenizer.encode_batch(block)
        yield from predict_ids(
            model,
            tokenizer,
            labels,
            documents,
            causal=causal,
            long=long,
            batch_tokens=batch_tokens,
            temperature=temperature,
        )


def require_classifier(model: Model, labels: Sequence[str]) -> None:
    """Raise an error unless the model has a classification head for exactly these labels."""
    require_head(
        model,
        "classification",
        purpose="predict labels",
        hint="fine-tune a classifier first: greffe finetune --from RUN --data TABLE",
    )
    classes = _classes(model)
    if classes != len(labels):
        raise MismatchError(
            "The labels do not match this model.",
            expected=f"{classes} labels, one per output of the head",
            found=f"{len(labels)}: {', '.join(labels)}",
        )


def _classes(model: Model) -> int:
    spec = model.head_specs["classification"]
    assert isinstance(spec, ClassificationHead)
    return spec.classes

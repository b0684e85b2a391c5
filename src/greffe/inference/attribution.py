"""Word attributions of a classification: gradient × input.

Only the part of a text that fits into the context is attributed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call

from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError
from greffe.inference.forward import device_of, evaluation_mode, require_finite
from greffe.inference.predict import require_classifier
from greffe.inference.word_spans import find_word_spans
from greffe.model.model import Model

Floats = NDArray[np.float64]


def word_weights(
    model: Model,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    text: str,
    *,
    causal: bool,
    label: str | None = None,
) -> list[tuple[str, float]]:
    """Return every word of the text with its weight for `label`, by default the predicted one.

    Weights are scaled so that the largest is 1 or -1; words beyond the context have weight 0.
    """
    require_classifier(model, labels)
    target = None if label is None else _class_of(labels, label)
    spans = find_word_spans(tokenizer, text)
    longest = model.spec.context - 2
    ids = np.array(spans.ids[:longest], np.uint32)
    owners = np.array(spans.owners[:longest], np.int64)
    weights = np.zeros(len(spans.words))
    row = _token_weights(model, tokenizer.wrap(ids), causal, target)
    first = len(tokenizer.prefix)
    np.add.at(weights, owners, row[first : first + len(ids)])
    require_finite(weights)
    strongest = np.abs(weights).max(initial=0.0)
    scaled = weights / strongest if strongest else weights
    return list(zip(spans.words, scaled.tolist(), strict=True))


def _token_weights(
    model: Model, row: NDArray[np.int64], causal: bool, target: int | None
) -> Floats:
    """Return the gradient of the log-odds times the embedding: row [T] → [T]."""
    # Gradients are enabled here whatever the caller's mode.
    with evaluation_mode(model), torch.inference_mode(False):
        ids = torch.from_numpy(row)[None].to(device_of(model))
        with _embeddings(model) as recorded:
            scores = functional_call(
                model, _constants(model), (ids, "classification"), {"causal": causal}
            )
        odds = _log_odds(scores[0].cpu().double(), target)
        # Read by the base [1, T, width], and once more by a head that reads the tokens themselves.
        gradients = torch.autograd.grad(odds, recorded)
        products = [
            (gradient * embedded.detach()).cpu().double().sum(-1)[0].numpy()
            for gradient, embedded in zip(gradients, recorded, strict=True)
        ]
    total: Floats = np.sum(products, axis=0)
    return total


def _log_odds(scores: Tensor, target: int | None) -> Tensor:
    """Return the log-odds of a class against all others from logits [classes]; None: of the best.

    With two classes this is the difference of their logits.
    """
    chosen = int(scores.argmax()) if target is None else target
    is_chosen = torch.arange(len(scores), device=scores.device) == chosen
    return scores[chosen] - scores.masked_fill(is_chosen, float("-inf")).logsumexp(-1)


@contextmanager
def _embeddings(model: Model) -> Iterator[list[Tensor]]:
    """Record the token embeddings of each forward pass in the block, with gradients enabled."""
    recorded: list[Tensor] = []

    def record(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        recorded.append(output.detach().requires_grad_())
        return recorded[-1]

    handle = model.base.embedding.register_forward_hook(record)
    try:
        yield recorded
    finally:
        handle.remove()


def _constants(model: Model) -> dict[str, Tensor]:
    """Return the model's weights without gradients; inference tensors are cloned."""
    return {
        name: weight.clone() if weight.is_inference() else weight.detach()
        for name, weight in model.named_parameters()
    }


def _class_of(labels: Sequence[str], label: str) -> int:
    if label not in labels:
        raise InputError(
            f"The model has no class {label!r}.",
            expected=f"one of {', '.join(labels)}",
            found=repr(label),
        )
    return labels.index(label)

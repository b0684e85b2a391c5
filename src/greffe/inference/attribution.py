"""Which words spoke for a class: by gradient × input.

Knows one text at a time: its beginning, as far as the context goes.
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
from greffe.inference.forward import device_of, evaluation_mode
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
    """The whole text in words, each with how much it spoke for `label`, or else the predicted one.

    The strongest word has 1 or -1; what stands beyond the context was not read and has 0.
    """
    require_classifier(model, labels)
    target = None if label is None else _class_of(labels, label)
    places = find_word_spans(tokenizer, text)
    room = model.spec.context - 2
    ids, owners = np.array(places.ids[:room], np.uint32), np.array(places.owners[:room], np.int64)
    weights = np.zeros(len(places.words))
    np.add.at(weights, owners, _token_weights(model, tokenizer.wrap(ids), causal, target))
    strongest = np.abs(weights).max(initial=0.0)
    scaled = weights / strongest if strongest else weights
    return list(zip(places.words, scaled.tolist(), strict=True))


def _token_weights(
    model: Model, row: NDArray[np.int64], causal: bool, target: int | None
) -> Floats:
    """Gradient of the log-odds times the embedding, a token of the row [tokens + 2]: [tokens]."""
    # Whatever the caller's mode, gradients are on where inference mode is off.
    with evaluation_mode(model), torch.inference_mode(False):
        ids = torch.from_numpy(row)[None].to(device_of(model))
        with _embeddings(model) as kept:
            scores = functional_call(
                model, _constants(model), (ids, "classification"), {"causal": causal}
            )
        [embedded] = kept  # [1, tokens + 2, width]
        odds = _log_odds(scores[0].double(), target)
        [gradient] = torch.autograd.grad(odds, embedded)
        products: Floats = (gradient * embedded.detach()).double().sum(-1)[0, 1:-1].cpu().numpy()
    return products


def _log_odds(scores: Tensor, target: int | None) -> Tensor:
    """Of one class against all others, from scores [classes]; None: of the best.

    With two classes it is the difference of their scores.
    """
    chosen = int(scores.argmax()) if target is None else target
    is_chosen = torch.arange(len(scores), device=scores.device) == chosen
    return scores[chosen] - scores.masked_fill(is_chosen, float("-inf")).logsumexp(-1)


@contextmanager
def _embeddings(model: Model) -> Iterator[list[Tensor]]:
    """Token vectors of each reading in the block, as tensors that a gradient can be asked of."""
    kept: list[Tensor] = []

    def keep(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        kept.append(output.detach().requires_grad_())
        return kept[-1]

    handle = model.base.embedding.register_forward_hook(keep)
    try:
        yield kept
    finally:
        handle.remove()


def _constants(model: Model) -> dict[str, Tensor]:
    """The model's weights without their gradients; a model made for reading only is copied."""
    return {
        name: weight.clone() if weight.is_inference() else weight.detach()
        for name, weight in model.named_parameters()
    }


def _class_of(labels: Sequence[str], label: str) -> int:
    if label not in labels:
        raise InputError(
            f"This model knows no class {label!r}.",
            expected=f"one of {', '.join(labels)}",
            found=repr(label),
        )
    return labels.index(label)

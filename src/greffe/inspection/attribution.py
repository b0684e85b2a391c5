"""Which words spoke for a class: by gradient × input, or by leaving each word out.

Knows one text at a time: its beginning, as far as the context goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, assert_never

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call

from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError
from greffe.inference.forward import device_of, reading
from greffe.inference.predict import classify_logits, require_classifier
from greffe.inspection.word_places import place_words
from greffe.model.model import Model
from greffe.model.ngrams import NgramTable

Method = Literal["gradient", "leave_one_out"]
Floats = NDArray[np.float64]


def word_weights(
    model: Model,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    text: str,
    *,
    causal: bool,
    label: str | None = None,
    method: Method = "gradient",
) -> list[tuple[str, float]]:
    """The whole text in words, each with how much it spoke for `label`, or else the predicted one.

    The strongest word has 1 or -1; what stands beyond the context was not read and has 0.
    """
    require_classifier(model, labels)
    target = None if label is None else _class_of(labels, label)
    places = place_words(tokenizer, text)
    room = model.spec.context - 2
    ids, owners = np.array(places.ids[:room], np.uint32), np.array(places.owners[:room], np.int64)
    weights = np.zeros(len(places.words))
    match method:
        case "gradient":
            tokens = _gradient_weights(model, tokenizer.wrap(ids), causal, target)
            np.add.at(weights, owners, tokens)
        case "leave_one_out":
            read = np.unique(owners)
            parts = [ids, *(ids[owners != word] for word in read)]
            rows = [tokenizer.wrap(part) for part in parts]
            weights[read] = _losses_without(model, rows, tokenizer.pad, causal, target)
        case _:
            assert_never(method)
    strongest = np.abs(weights).max(initial=0.0)
    scaled = weights / strongest if strongest else weights
    return list(zip(places.words, scaled.tolist(), strict=True))


def _gradient_weights(
    model: Model, row: NDArray[np.int64], causal: bool, target: int | None
) -> Floats:
    """Gradient of the log-odds times the embedding, a token of the row [tokens + 2]: [tokens].

    What a table of n-grams says of a token stands beside its embedding.
    """
    # Whatever the caller's mode, gradients are on where inference mode is off.
    with reading(model), torch.inference_mode(False):
        ids = torch.from_numpy(row)[None].to(device_of(model))
        with _token_vectors(model) as kept:
            scores = functional_call(
                model, _constants(model), (ids, "classification"), {"causal": causal}
            )
        [odds] = _log_odds(scores.double(), target)
        gradients = torch.autograd.grad(odds, kept)  # each [1, tokens + 2, …]
        pairs = zip(gradients, kept, strict=True)
        products = sum((slope * vector.detach()).double().sum(-1) for slope, vector in pairs)
        assert isinstance(products, Tensor)
        result: Floats = products[0, 1:-1].cpu().numpy()
    return result


def _losses_without(
    model: Model, rows: Sequence[NDArray[np.int64]], pad: int, causal: bool, target: int | None
) -> Floats:
    """What the log-odds of the first row lose in each of the others."""
    odds = _log_odds(classify_logits(model, rows, pad, causal).double(), target)
    losses: Floats = (odds[0] - odds[1:]).numpy()
    return losses


def _log_odds(scores: Tensor, target: int | None) -> Tensor:
    """Of one class against all others: [rows] from [rows, classes]; None: the first row's best.

    With two classes it is the difference of their scores.
    """
    chosen = int(scores[0].argmax()) if target is None else target
    is_chosen = torch.arange(scores.shape[-1], device=scores.device) == chosen
    return scores[:, chosen] - scores.masked_fill(is_chosen, float("-inf")).logsumexp(-1)


@contextmanager
def _token_vectors(model: Model) -> Iterator[list[Tensor]]:
    """What enters for each token in the block, as tensors that a gradient can be asked of."""
    kept: list[Tensor] = []

    def keep(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        kept.append(output.detach().requires_grad_())
        return kept[-1]

    tables = [module for module in model.modules() if isinstance(module, NgramTable)]
    handles = [part.register_forward_hook(keep) for part in (model.base.embedding, *tables)]
    try:
        yield kept
    finally:
        for handle in handles:
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

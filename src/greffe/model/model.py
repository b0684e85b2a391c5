"""The model: one base with its heads, and fresh weights from named streams.

Knows nothing of objectives, data or files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from greffe.config.components import HeadSpec
from greffe.config.sections import ModelSpec
from greffe.model.attention import Cache
from greffe.model.base import Base
from greffe.model.heads.head import Head, VocabularyHead
from greffe.model.memory import require_memory, weights_need
from greffe.seeding import derive

INIT_STD = 0.02


class Model(nn.Module):
    """A base and its heads by kind; `build_model` or a checkpoint provides the weights."""

    def __init__(self, spec: ModelSpec, vocab: int, head_specs: Mapping[str, HeadSpec]) -> None:
        super().__init__()
        assert all(kind == head.kind for kind, head in head_specs.items())
        self.spec = spec
        self.vocab = vocab
        self.head_specs = dict(head_specs)
        self.base = Base(spec, vocab)
        self.heads = nn.ModuleDict(
            {kind: head.build(spec, vocab) for kind, head in head_specs.items()}
        )

    def vocabulary_head(self, kind: str) -> VocabularyHead:
        """Return the head of this kind, which must score the vocabulary."""
        head = self.heads[kind]
        assert isinstance(head, VocabularyHead)
        return head

    def scores(
        self,
        hidden: Tensor,
        kind: str,
        lengths: Tensor | None = None,
        ids: Tensor | None = None,
    ) -> Tensor:
        """Return one head's scores for hidden states [B, T, width] of ids [B, T].

        Only a head that reads the tokens' own vectors needs the ids.
        """
        head = self.heads[kind]
        assert isinstance(head, Head)
        given = [hidden, self.base.embedding.weight, lengths]
        if head.reads_tokens:
            assert ids is not None
            given.append(self.base.embedding(ids))
        result: Tensor = head(*given)
        return result

    def forward(
        self,
        ids: Tensor,
        kind: str,
        *,
        causal: bool,
        lengths: Tensor | None = None,
        documents: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """Return the scores of one head for ids [B, T]; the other arguments are those of Base."""
        hidden = self.base(
            ids,
            causal=causal,
            lengths=lengths,
            documents=documents,
            positions=positions,
            cache=cache,
        )
        return self.scores(hidden, kind, lengths, ids)


def empty_model(spec: ModelSpec, vocab: int, heads: Mapping[str, HeadSpec]) -> Model:
    """Return a model on the meta device: shapes without memory."""
    with torch.device("meta"), _Undrawn():
        return Model(spec, vocab, heads)


class _Undrawn(TorchFunctionMode):
    """Leaves out the numbers that layers draw when they are made: they are never used.

    On the meta device torch would also import its compiler for them, which takes a second.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the tensor as it is for functions of torch.nn.init, else call the function."""
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == nn.init.__name__:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def blank_model(spec: ModelSpec, vocab: int, heads: Mapping[str, HeadSpec]) -> Model:
    """Return a model whose weights are not set; an error if this machine cannot hold it."""
    require_memory(
        weights_need(spec, vocab, heads.values()),
        "This model",
        hint="use a smaller model: model.width, model.layers, tokenizer.vocab",
    )
    with torch.device("cpu"), _Undrawn():
        return Model(spec, vocab, heads)


def build_model(spec: ModelSpec, vocab: int, heads: Mapping[str, HeadSpec], seed: int) -> Model:
    """Return a model with new weights.

    Each tensor is drawn from its own random stream, named after it: models of the same shape and
    seed share every tensor of the same name, whatever their heads.
    """
    model = blank_model(spec, vocab, heads)
    small = tuple(f"heads.{kind}." for kind, head in heads.items() if head.has_small_start)
    for path, module in model.named_modules():
        for name, parameter in module.named_parameters(recurse=False):
            generator = torch.Generator().manual_seed(derive(seed, "init", f"{path}.{name}"))
            is_small = path.startswith(small)
            _initialize(parameter, name, path, module, spec, generator, is_small=is_small)
    return model


@torch.no_grad()
def _initialize(
    parameter: Tensor,
    name: str,
    path: str,
    module: nn.Module,
    spec: ModelSpec,
    generator: torch.Generator,
    *,
    is_small: bool,
) -> None:
    if name == "bias":
        parameter.zero_()
    elif isinstance(module, nn.LayerNorm | nn.RMSNorm):
        parameter.fill_(1.0)
    elif isinstance(module, nn.Embedding) and spec.scale_embedding:
        parameter.normal_(0.0, 1 / math.sqrt(spec.width), generator=generator)
    elif not isinstance(module, nn.Linear) or is_small:
        parameter.normal_(0.0, INIT_STD, generator=generator)
    elif spec.norm == "post" and not spec.embedding_norm:
        nn.init.xavier_uniform_(parameter, generator=generator)
    else:
        # Every block adds two branches to the residual stream: keep the size of the sum. After
        # norms that follow each branch it has a fixed size, as in BERT.
        is_branch_end = path.endswith(("attention.out", "feed_forward.contract"))
        is_branch_end &= spec.norm == "pre"
        std = INIT_STD / math.sqrt(2 * spec.layers) if is_branch_end else INIT_STD
        parameter.normal_(0.0, std, generator=generator)

"""The base: embedding, positions and blocks. It is pretrained, then transferred.

Knows nothing of heads, objectives or data.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from greffe.config.sections import ModelSpec
from greffe.kernels.linear import normalize
from greffe.model.attention import Cache, build_mask, uses_products
from greffe.model.layers import NORM_EPSILON, Block, select_tokens
from greffe.model.positions.scheme import default_positions


class Base(nn.Module):
    """Token ids → hidden states."""

    def __init__(self, spec: ModelSpec, vocab: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, spec.width)
        self.position = spec.position.build(spec)
        self.dropout = nn.Dropout(spec.dropout)
        self.blocks = nn.ModuleList(Block(spec) for _ in range(spec.layers))
        self.final_norm = nn.LayerNorm(spec.width, eps=NORM_EPSILON) if spec.norm == "pre" else None
        self.dtype: torch.dtype | None = None
        """Of matrix products and activations in the blocks, if it is not that of the weights."""
        self.embedding_scale = math.sqrt(spec.width) if spec.scale_embedding else 1.0

    def forward(
        self,
        ids: Tensor,
        *,
        causal: bool,
        lengths: Tensor | None = None,
        documents: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        chosen: Tensor | None = None,
    ) -> Tensor:
        """Return hidden states [B, T, width] of ids [B, T].

        lengths [B] counts the real tokens per row, padding on the right; documents [B, T] isolates
        the documents of a packed row; positions [B or 1, T] continue after the cache by default,
        and start from zero in each document. A cache is extended by these tokens. With `chosen`
        [N], indices into the B · T tokens, only their hidden states [N, width] are returned, and
        the last feed-forward layer is computed for no others.
        """
        past = 0 if cache is None else cache.length
        count = ids.shape[1]
        self.position.check_length(past + count, positions)
        if positions is None:
            positions = default_positions(count, past=past, documents=documents, device=ids.device)
        key_positions = positions if cache is None else cache.append_positions(positions)
        mask = build_mask(
            count,
            causal=causal,
            lengths=lengths,
            documents=documents,
            past=past,
            device=ids.device,
        ).with_bias(self.position.bias(positions, key_positions))
        if cache is None and uses_products(self.dtype, ids.device, count):
            mask = mask.with_products(self.position, positions, torch.bfloat16)
        x: Tensor = self.embedding(ids)
        if self.embedding_scale != 1.0:
            x = x * self.embedding_scale
        # The sum of all branches stays as precise as the weights: bf16 would round small ones away.
        x = self.dropout(self.position.embed(x, positions))
        for index, block in enumerate(self.blocks):
            layer = None if cache is None else cache.layers[index]
            is_last = index == len(self.blocks) - 1
            some = chosen if is_last else None
            x = block(x, mask, self.position, positions, layer, some, self.dtype)
        if chosen is not None and not self.blocks:
            x = select_tokens(x, chosen)
        if self.final_norm is None:
            return x if self.dtype is None else x.to(self.dtype)
        return normalize(x, self.final_norm, self.dtype)

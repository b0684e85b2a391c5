"""The base: embedding, positions and blocks. It is pretrained, then transferred.

Knows nothing of heads, objectives or data.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from greffe.config.sections import ModelSpec
from greffe.kernels.linear import linear, normalize
from greffe.model.attention import AttentionMask, Cache, build_mask, uses_products
from greffe.model.layers import Block, build_norm, select_tokens
from greffe.model.positions.scheme import PositionScheme, default_positions

View = tuple[AttentionMask, PositionScheme]
"""What the tokens of a block attend to, and how it represents their positions."""


class Base(nn.Module):
    """Token ids → hidden states."""

    def __init__(self, spec: ModelSpec, vocab: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab, spec.token_width)
        self.position = spec.position.build(spec)
        self.window = spec.window
        self.local_position = spec.position.build_local(spec) if spec.window else None
        """Of the blocks that attend to a window, if it is another."""
        self.embedding_norm = build_norm(spec, spec.token_width) if spec.embedding_norm else None
        self.embedding_projection = (
            nn.Linear(spec.token_width, spec.width) if spec.embedding_width else None
        )
        self.dropout = nn.Dropout(spec.dropout)
        self.blocks = nn.ModuleList(Block(spec, number) for number in range(spec.layers))
        self.final_norm = build_norm(spec) if spec.norm == "pre" else None
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
        )
        views = self.views(mask, positions, key_positions)
        if cache is None and uses_products(self.dtype, ids.device, count):
            views = [
                (mask.with_products(position, positions, torch.bfloat16), position)
                for mask, position in views
            ]
        # The sum of all branches stays as precise as the weights: bf16 would round small ones away.
        x: Tensor = self.dropout(self.embed(ids, positions))
        for index, block in enumerate(self.blocks):
            layer = None if cache is None else cache.layers[index]
            is_last = index == len(self.blocks) - 1
            some = chosen if is_last else None
            assert isinstance(block, Block)
            mask, position = views[block.is_local]
            x = block(x, mask, position, positions, layer, some, self.dtype)
        if chosen is not None and not self.blocks:
            x = select_tokens(x, chosen)
        if self.final_norm is None:
            return x if self.dtype is None else x.to(self.dtype)
        return normalize(x, self.final_norm, self.dtype)

    def embed(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Return the vectors [B, T, width] of ids [B, T] at positions [B or 1, T]."""
        x: Tensor = self.embedding(ids)
        if self.embedding_scale != 1.0:
            x = x * self.embedding_scale
        x = self.position.embed(x, positions)
        if self.embedding_norm is not None:
            x = normalize(x, self.embedding_norm)
        if self.embedding_projection is not None:
            x = linear(x, self.embedding_projection.weight, self.embedding_projection.bias)
        return x

    def views(self, mask: AttentionMask, positions: Tensor, key_positions: Tensor) -> list[View]:
        """Return what blocks without a window see, then those with one, if there are any."""
        bias = self.position.bias(positions, key_positions)
        views: list[View] = [(mask.with_bias(bias), self.position)]
        if self.window:
            near = mask.within(self.window, positions, key_positions)
            views.append((near.with_bias(bias), self.local_position or self.position))
        return views

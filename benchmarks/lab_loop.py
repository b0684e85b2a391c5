"""The original lab's training loop: torch's layers, all logits, plain Adam.

An embedding scaled by the square root of the width, sinusoidal positions, `nn.TransformerEncoder`
with a square causal mask, a linear layer to the whole vocabulary and `nn.CrossEntropyLoss`.
"""

from __future__ import annotations

import math
import warnings
from itertools import cycle

import torch
from torch import Tensor, nn

from benchmarks.synthetic import Ids
from greffe.config.sections import ModelSpec

LEARNING_RATE = 1e-3
CLIP = 0.5


class PositionalEncoding(nn.Module):
    """Sines and cosines of increasing wavelength, added to the embedding."""

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        positions = torch.arange(longest)[:, None]
        speeds = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
        table = torch.zeros(longest, 1, width)
        table[:, 0, 0::2] = torch.sin(positions * speeds)
        table[:, 0, 1::2] = torch.cos(positions * speeds)
        self.register_buffer("table", table)

    def forward(self, x: Tensor) -> Tensor:
        """Add positions to [T, B, width]."""
        return x + self.get_buffer("table")[: len(x)]


class LabModel(nn.Module):
    """Embedding, encoder and a linear layer to the vocabulary; tokens are [T, B]."""

    def __init__(self, spec: ModelSpec, vocab: int) -> None:
        super().__init__()
        self.width = spec.width
        self.embedding = nn.Embedding(vocab, spec.width)
        self.position = PositionalEncoding(spec.width, spec.context)
        layer = nn.TransformerEncoderLayer(spec.width, spec.heads, spec.feed_forward, dropout=0.0)
        with warnings.catch_warnings():
            # torch warns that [T, B] prevents its fast path for inference, which is not used.
            warnings.simplefilter("ignore", UserWarning)
            self.encoder = nn.TransformerEncoder(layer, spec.layers)
        self.decoder = nn.Linear(spec.width, vocab)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the logits [T, B, vocab] of ids [T, B]."""
        x = self.position(self.embedding(ids) * math.sqrt(self.width))
        logits: Tensor = self.decoder(self.encoder(x, mask))
        return logits


class LabLoop:
    """Steps over batches of rows [B, T + 1]: T input tokens and T predicted tokens."""

    def __init__(self, spec: ModelSpec, vocab: int, batches: list[Ids]) -> None:
        torch.manual_seed(0)
        self.model = LabModel(spec, vocab).train()
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=LEARNING_RATE)
        turned = [torch.from_numpy(ids).t().contiguous() for ids in batches]
        self.batches = cycle([(ids[:-1], ids[1:].reshape(-1)) for ids in turned])
        self.mask = nn.Transformer.generate_square_subsequent_mask(len(turned[0]) - 1)
        self.vocab = vocab

    def step(self) -> None:
        """Run one optimizer step."""
        ids, targets = next(self.batches)
        self.optimizer.zero_grad()
        logits = self.model(ids, self.mask)
        loss = self.criterion(logits.view(-1, self.vocab), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()

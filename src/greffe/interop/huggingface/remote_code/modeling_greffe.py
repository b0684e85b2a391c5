"""Models of greffe for transformers: a base, and with a head for tokens or for classes.

Padding may be on either side.
"""
# mypy: disable-error-code="no-untyped-call, arg-type, override"
# Much of transformers has no types, or narrower ones.

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel
from transformers import modeling_outputs as outputs

from .configuration_greffe import GreffeConfig  # noqa: TID252  # as transformers loads it
from .layers_greffe import (  # noqa: TID252
    Block,
    ClassificationHead,
    Positions,
    VocabularyHead,
    build_norm,
)


class GreffePreTrainedModel(PreTrainedModel):
    """What transformers asks of every model. A file may hold heads that a class does not use."""

    config_class = GreffeConfig
    config: GreffeConfig
    base_model_prefix = "base"
    _keys_to_ignore_on_load_unexpected = [r"heads\."]  # noqa: RUF012
    _supports_sdpa = True


class GreffeModel(GreffePreTrainedModel):
    """Token ids → hidden states."""

    def __init__(self, config: GreffeConfig) -> None:
        super().__init__(config)
        width = config.embedding_width or config.width
        self.embedding = nn.Embedding(config.vocab_size, width)
        self.scale = math.sqrt(config.width) if config.scale_embedding else 1.0
        self.position = Positions(config)
        has_norm, has_projection = config.embedding_norm, config.embedding_width > 0
        self.embedding_norm = build_norm(config, width) if has_norm else nn.Identity()
        self.embedding_projection = (
            nn.Linear(width, config.width) if has_projection else nn.Identity()
        )
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config, number) for number in range(config.layers))
        is_pre_norm = config.norm == "pre"
        self.final_norm = build_norm(config, config.width) if is_pre_norm else nn.Identity()
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def set_input_embeddings(self, value: nn.Embedding) -> None:
        self.embedding = value

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        causal: bool | None = None,
        output_hidden_states: bool | None = None,
        **_: Any,
    ) -> outputs.BaseModelOutput:
        """Return hidden states [B, T, width]; `causal` says how to read, if not as configured."""
        real = real_tokens(input_ids, attention_mask)
        positions = (real.long().cumsum(-1) - 1).clamp(min=0)
        distances = (positions[:, None, :, None] - positions[:, None, None, :]).abs()
        allowed = real[:, None, None, :].expand_as(distances)
        if self.config.causal if causal is None else causal:
            allowed = allowed.tril()
        itself = torch.eye(real.shape[1], dtype=torch.bool, device=real.device)  # padding too
        x = self.position.embed(self.embedding(input_ids) * self.scale, positions)
        x = self.dropout(self.embedding_projection(self.embedding_norm(x)))
        near = allowed & (distances <= self.config.window)
        views = [  # of the blocks that attend to all tokens, then of the others
            (
                self.position.mask(seen | itself, distances, x.dtype),
                self.position.turns(positions, base),
            )
            for seen, base in ((allowed, self.position.base), (near, self.position.local_base))
        ]
        states = [x]
        for block in self.blocks:
            assert isinstance(block, Block)
            states.append(block(states[-1], *views[block.is_local]))
        states[-1] = self.final_norm(states[-1])
        every = tuple(states) if output_hidden_states else None
        return outputs.BaseModelOutput(last_hidden_state=states[-1], hidden_states=every)


def real_tokens(input_ids: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Return which tokens [B, T] are not padding."""
    if attention_mask is None:
        return torch.ones_like(input_ids, dtype=torch.bool)
    return attention_mask.bool()


class _WithHead(GreffePreTrainedModel):
    """A base and one head of it."""

    def __init__(self, config: GreffeConfig, kind: str) -> None:
        super().__init__(config)
        self.base = GreffeModel(config)
        is_classifier = kind == "classification"
        head = ClassificationHead(config) if is_classifier else VocabularyHead(config, kind)
        self.heads = nn.ModuleDict({kind: head})
        self.post_init()

    def token_logits(self, kind: str, hidden: Tensor) -> Tensor:
        """Return the scores [B, T, vocab] of a head for hidden states [B, T, width]."""
        result: Tensor = self.heads[kind](hidden, self.base.embedding.weight)
        return result


class GreffeForCausalLM(_WithHead, GenerationMixin):
    """The token that follows each token. There is no cache: every step reads the whole row."""

    def __init__(self, config: GreffeConfig) -> None:
        super().__init__(config, "next_token")

    def prepare_inputs_for_generation(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any
    ) -> dict[str, Any]:
        """Return the whole row, whatever has been read before."""
        return {"input_ids": input_ids, "attention_mask": attention_mask}

    def forward(
        self, input_ids: Tensor, labels: Tensor | None = None, **inputs: Any
    ) -> outputs.CausalLMOutput:
        """Return logits [B, T, vocab]; labels [B, T] are the ids themselves, -100 for none."""
        found = self.base(input_ids, **{**inputs, "causal": True})
        logits = self.token_logits("next_token", found.last_hidden_state)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return outputs.CausalLMOutput(loss=loss, logits=logits, hidden_states=found.hidden_states)


class GreffeForMaskedLM(_WithHead):
    """The token behind each mask."""

    def __init__(self, config: GreffeConfig) -> None:
        super().__init__(config, "masked_token")

    def forward(
        self, input_ids: Tensor, labels: Tensor | None = None, **inputs: Any
    ) -> outputs.MaskedLMOutput:
        """Return logits [B, T, vocab]; labels [B, T] are ids, -100 where nothing is masked."""
        found = self.base(input_ids, **{**inputs, "causal": False})
        logits = self.token_logits("masked_token", found.last_hidden_state)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return outputs.MaskedLMOutput(loss=loss, logits=logits, hidden_states=found.hidden_states)


class GreffeForSequenceClassification(_WithHead):
    """The class of a text."""

    def __init__(self, config: GreffeConfig) -> None:
        super().__init__(config, "classification")
        self.num_labels = config.num_labels

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **inputs: Any,
    ) -> outputs.SequenceClassifierOutput:
        """Return logits [B, classes]; labels [B] are numbers of classes."""
        found = self.base(input_ids, attention_mask, **inputs)
        real = real_tokens(input_ids, attention_mask)
        tokens = self.base.embedding(input_ids)
        logits = self.heads["classification"](found.last_hidden_state, real, tokens)
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return outputs.SequenceClassifierOutput(
            loss=loss, logits=logits, hidden_states=found.hidden_states
        )

"""The configuration of a greffe model: the choices of its recipe, under the same names."""

from __future__ import annotations

from typing import Any

from transformers import PretrainedConfig


class GreffeConfig(PretrainedConfig):
    """Shape of a base, how it reads a text, and what a classifier makes of its vectors."""

    model_type = "greffe"
    attribute_map = {  # noqa: RUF012  # a ClassVar in transformers
        "hidden_size": "width",
        "num_hidden_layers": "layers",
        "num_attention_heads": "heads",
        "intermediate_size": "feed_forward",
        "max_position_embeddings": "context",
    }

    family: str = "greffe"  # whose architecture it is; the choices below say all of it
    vocab_size: int = 16_000
    width: int = 256
    layers: int = 4
    heads: int = 4
    kv_heads: int = 0  # 0: as heads
    feed_forward: int = 1024
    context: int = 256
    position: dict[str, Any] | None = None
    window: int = 0  # tokens on either side that local blocks attend to; 0: all
    global_every: int = 3
    norm: str = "pre"
    norm_kind: str = "layer"
    norm_epsilon: float = 1e-5
    norm_bias: bool = True
    embedding_norm: bool = False
    embedding_width: int = 0  # 0: as width
    activation: str = "gelu"
    gated: bool = False
    linear_bias: bool = True
    head_bias: bool = True
    head_activation: str = "gelu"
    dropout: float = 0.0
    scale_embedding: bool = False
    tied: bool = True  # heads compute with the embedding: transformers has nothing to tie
    tie_word_embeddings: bool = False
    causal: bool = False  # how the base and a classifier read
    pooler: str = "mean"  # first, last, mean, max, mean+max or mean+embedding
    classifier_dropout: float = 0.0

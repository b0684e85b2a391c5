"""What the encoder families share: the shape of BERT, and most of the names of its tensors.

The embedding of token type 0, the only one of single texts, is added to the positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from greffe.config.sections import ModelSpec
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import (
    ForeignHead,
    Part,
    Parts,
    copied,
    linear,
    stacked_linear,
)
from greffe.model.heads.masked_token_head import MaskedTokenHead

if TYPE_CHECKING:
    from torch import Tensor

TASK_HEADS = ("classifier.*", "qa_outputs.*")
"""Heads of fine-tuned files, which a new task has no use for."""
POSITIONS = "max_position_embeddings"


def encoder_choices() -> dict[str, Any]:
    """Return the choices of ModelSpec that all encoders of BERT's shape have in common."""
    return {"position": {"kind": "learned"}, "norm": "post", "embedding_norm": True}


def encoder_fields(config: Config) -> dict[str, Any]:
    """Return the fields of an encoder whose configuration has BERT's names."""
    config.require("is_decoder", False)
    config.require("position_embedding_type", "absolute")
    return {
        **encoder_choices(),
        "width": config.integer("hidden_size"),
        "layers": config.integer("num_hidden_layers"),
        "heads": config.integer("num_attention_heads"),
        "feed_forward": config.integer("intermediate_size"),
        "context": config.integer(POSITIONS),
        "norm_epsilon": config.number("layer_norm_eps", 1e-12),
        "activation": config.activation("hidden_act", "gelu"),
        "dropout": config.number("hidden_dropout_prob", 0.1),
        "tied": config.flag("tie_word_embeddings", True),
    }


def encoder_base(model: ModelSpec, config: Config, prefix: str, unused: int = 0) -> Parts:
    """Return the parts of a base whose tensors have BERT's names, but for an embedding projection.

    unused: how many rows of the table of positions come before that of the first token.
    """
    embeddings, layers = f"{prefix}embeddings", f"{prefix}encoder.layer"
    used = used_positions(model, config, unused)
    parts = {
        "embedding.weight": copied(f"{embeddings}.word_embeddings.weight"),
        "position.weight": Part(
            (
                f"{embeddings}.position_embeddings.weight",
                f"{embeddings}.token_type_embeddings.weight",
            ),
            lambda positions, types: used(positions) + types[0],
        ),
        **linear("embedding_norm", f"{embeddings}.LayerNorm"),
    }
    for number in range(model.layers):
        block, layer = f"blocks.{number}", f"{layers}.{number}"
        attention = f"{layer}.attention"
        names = [f"{attention}.self.{name}" for name in ("query", "key", "value")]
        parts |= stacked_linear(f"{block}.attention.qkv", *names)
        parts |= linear(f"{block}.attention.out", f"{attention}.output.dense")
        parts |= linear(f"{block}.attention_norm", f"{attention}.output.LayerNorm")
        parts |= linear(f"{block}.feed_forward.expand", f"{layer}.intermediate.dense")
        parts |= linear(f"{block}.feed_forward.contract", f"{layer}.output.dense")
        parts |= linear(f"{block}.feed_forward_norm", f"{layer}.output.LayerNorm")
    return parts


def used_positions(model: ModelSpec, config: Config, unused: int = 0) -> Callable[[Tensor], Tensor]:
    """Return what takes the rows [context, width] that greffe uses from the table of positions.

    A table of another length than the configuration's is an error of torch.
    """
    rest = config.integer(POSITIONS) - unused - model.context
    sizes = [unused, model.context, rest]
    return lambda table: table.split_with_sizes(sizes)[1]


def folded_parameters(model: ModelSpec, config: Config, *, types: bool = True) -> dict[str, int]:
    """Return how many parameters are folded into others or cut, by what they are."""
    width = model.token_width
    folded = {
        "token types": width * config.integer("type_vocab_size", 2) if types else 0,
        "unused positions": width * (config.integer(POSITIONS) - model.context),
    }
    return {name: count for name, count in folded.items() if count}


def masked_head(
    model: ModelSpec, transform: str, norm: str, decoder: str, bias: str | None = None
) -> ForeignHead:
    """Return a masked-token head of two layers with a norm between them.

    bias: the name of the second layer's bias, if the file has it beside the layer: it repeats the
    layer's, and a file may hold either.
    """
    bias = bias or f"{decoder}.bias"
    parts = linear("transform", transform) | linear("norm", norm)
    if not model.tied:
        parts["weight"] = copied(f"{decoder}.weight")
    # Of two that differ, transformers computes with this one.
    first, second = (bias, f"{decoder}.bias") if model.tied else (f"{decoder}.bias", bias)
    parts["bias"] = copied(first)
    return ForeignHead(
        MaskedTokenHead(tied=model.tied),
        parts,
        copies=(f"{decoder}.weight", first, second),
        other_names={first: second},
    )

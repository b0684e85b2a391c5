"""What the encoder families share: the shape of BERT, and most of the names of its tensors.

The embedding of token type 0, the only one of single texts, is added to the positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from greffe.config.sections import ModelSpec
from greffe.interop.huggingface.config import ACTIVATION_NAMES, Config
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
TYPES = "type_vocab_size"


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


def encoder_values(model: ModelSpec, *, unused: int = 0, types: int = 2) -> dict[str, Any]:
    """Return the values of config.json that `encoder_fields` reads."""
    return {
        "hidden_size": model.width,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "intermediate_size": model.feed_forward,
        POSITIONS: model.context + unused,
        TYPES: types,
        "layer_norm_eps": model.norm_epsilon,
        "hidden_act": ACTIVATION_NAMES[model.activation],
        "hidden_dropout_prob": model.dropout,
        "attention_probs_dropout_prob": 0.0,
    }


def encoder_base(model: ModelSpec, config: Config, prefix: str, unused: int = 0) -> Parts:
    """Return the parts of a base whose tensors have BERT's names, but for an embedding projection.

    unused: how many rows of the table of positions come before that of the first token.
    """
    embeddings, layers = f"{prefix}embeddings", f"{prefix}encoder.layer"
    parts = {
        "embedding.weight": copied(f"{embeddings}.word_embeddings.weight"),
        "position.weight": table_of_positions(
            model,
            config,
            f"{embeddings}.position_embeddings.weight",
            f"{embeddings}.token_type_embeddings.weight",
            unused=unused,
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


def table_of_positions(model: ModelSpec, config: Config, *sources: str, unused: int = 0) -> Part:
    """Return a part that is the rows [context, width] that greffe uses of a table of positions.

    sources: the table and, if there is one, that of token types, whose first row is added.
    A table of another length than the configuration's is an error of torch.
    """
    rest = config.integer(POSITIONS) - unused - model.context
    sizes = [unused, model.context, rest]

    def join(table: Tensor, *types: Tensor) -> Tensor:
        used = table.split_with_sizes(sizes)[1]
        return used + types[0][0] if types else used

    def split(used: Tensor) -> Sequence[Tensor]:
        width = used.shape[1]
        table = used.new_zeros(sum(sizes), width)
        table[unused : unused + model.context] = used
        types = config.integer(TYPES, 2)
        return [table, used.new_zeros(types, width)][: len(sources)]

    return Part(sources, join, split)


def folded_parameters(model: ModelSpec, config: Config, *, types: bool = True) -> dict[str, int]:
    """Return how many parameters are folded into others or cut, by what they are."""
    width = model.token_width
    folded = {
        "token types": width * config.integer(TYPES, 2) if types else 0,
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

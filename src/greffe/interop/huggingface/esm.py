"""ESM: the class of transformers that has the shape of greffe's own masked models.

It was made for proteins, and nothing in it knows of them but a head for contacts, which is written
as zeros. Published models scale their embeddings (token_dropout), and are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from greffe.config.sections import ModelSpec
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import (
    Family,
    ForeignHead,
    Layout,
    Part,
    Parts,
    SpecialIds,
    copied,
    linear,
    rotary_linear,
)
from greffe.interop.huggingface.rope import rotary_bases
from greffe.model.heads.masked_token_head import MaskedTokenHead

if TYPE_CHECKING:
    from torch import Tensor


class Esm(Family):
    """Pre-norm encoder with rotary positions: a form of greffe's models, without a name."""

    model_types: ClassVar[tuple[str, ...]] = ("esm",)
    objective: ClassVar[Literal["masked", "causal"]] = "masked"
    prefix: ClassVar[str] = "esm."
    classes: ClassVar[Mapping[str, str]] = {"masked_token": "EsmForMaskedLM"}

    def model(self, config: Config) -> dict[str, Any]:
        if config.text("position_embedding_type", "absolute") != "rotary":
            raise config.unsupported("position_embedding_type", "rotary")
        for name in ("token_dropout", "emb_layer_norm_before", "is_decoder", "is_folding_model"):
            config.require(name, False)
        return {
            "width": config.integer("hidden_size"),
            "layers": config.integer("num_hidden_layers"),
            "heads": config.integer("num_attention_heads"),
            "feed_forward": config.integer("intermediate_size"),
            "context": config.integer("max_position_embeddings"),
            "position": {"kind": "rotary", "base": config.number("rope_theta", 10_000.0)},
            "norm": "pre",
            "norm_epsilon": config.number("layer_norm_eps", 1e-12),
            "activation": "gelu",
            "head_activation": "gelu",
            "tied": config.flag("tie_word_embeddings", True),
        }

    def choices(self, model: ModelSpec, special: SpecialIds) -> dict[str, Any]:
        return {
            "hidden_size": model.width,
            "num_hidden_layers": model.layers,
            "num_attention_heads": model.heads,
            "intermediate_size": model.feed_forward,
            "max_position_embeddings": model.context,
            "position_embedding_type": "rotary",
            "rope_theta": rotary_bases(model)[0],
            "layer_norm_eps": model.norm_epsilon,
            "emb_layer_norm_before": False,
            "token_dropout": False,
            "hidden_dropout_prob": model.dropout,
            "attention_probs_dropout_prob": 0.0,
        }

    def layout(self, model: ModelSpec, config: Config) -> Layout:
        head = {
            **linear("transform", "lm_head.dense"),
            **linear("norm", "lm_head.layer_norm"),
            "bias": copied("lm_head.bias"),
        }
        if not model.tied:
            head["weight"] = copied("lm_head.decoder.weight")
        return Layout(
            base={
                "embedding.weight": _embedding(model),
                **_blocks(model),
                **linear("final_norm", "esm.encoder.emb_layer_norm_after"),
            },
            heads={
                "masked_token": ForeignHead(
                    MaskedTokenHead(tied=model.tied), head, copies=("lm_head.decoder.weight",)
                )
            },
            folded={
                "contacts": model.layers * model.heads + 1,
                "frequencies": model.head_width // 2,
            },
        )


def _embedding(model: ModelSpec) -> Part:
    """Return the embedding; with it come the tensors of the class that hold nothing of greffe's."""
    names = ("contact_head.regression.weight", "contact_head.regression.bias")
    sources = ("embeddings.word_embeddings.weight", *names, "rotary_embeddings.inv_freq")

    def split(embedding: Tensor) -> Sequence[Tensor]:
        columns = embedding.new_tensor(range(0, model.head_width, 2)) / model.head_width
        return [
            embedding,
            embedding.new_zeros(1, model.layers * model.heads),
            embedding.new_zeros(1),
            rotary_bases(model)[0] ** -columns,
        ]

    return Part(tuple(f"esm.{name}" for name in sources), lambda first, *_: first, split)


def _blocks(model: ModelSpec) -> Parts:
    parts: Parts = {}
    for number in range(model.layers):
        block, layer = f"blocks.{number}", f"esm.encoder.layer.{number}"
        names = [f"{layer}.attention.self.{name}" for name in ("query", "key", "value")]
        parts |= linear(f"{block}.attention_norm", f"{layer}.attention.LayerNorm")
        parts |= rotary_linear(f"{block}.attention.qkv", model, *names)
        parts |= linear(f"{block}.attention.out", f"{layer}.attention.output.dense")
        parts |= linear(f"{block}.feed_forward_norm", f"{layer}.LayerNorm")
        parts |= linear(f"{block}.feed_forward.expand", f"{layer}.intermediate.dense")
        parts |= linear(f"{block}.feed_forward.contract", f"{layer}.output.dense")
    return parts

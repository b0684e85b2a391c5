"""The original lab's checkpoint: pretrained_model_4layers.pt, with its head or without.

A state dict of torch's TransformerEncoder, in the shape of the recipe lab. The number of layers and
the vocabulary follow from the tensors. Positions are computed; the table in the file is not used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from greffe.config.recipe_files import shipped_recipe
from greffe.config.sections import ModelSpec
from greffe.data.tokenizer import Tokenizer
from greffe.errors import MismatchError
from greffe.interop.foreign_base import ForeignBase
from greffe.interop.huggingface.assemble import plan_tensors
from greffe.interop.huggingface.family import ForeignHead, Layout, Parts, copied, linear
from greffe.interop.pickled_tensors import read_pickled
from greffe.model.heads.next_token_head import NextTokenHead
from greffe.model.memory import require_memory, weights_need
from greffe.model.tensor_header import Shape

PREFIX = "base."
STATE_DICT = "model_state_dict"
"""Where a checkpoint of a training holds the weights, beside the state of its optimizer."""
MOST_LAYERS = 1_000
_EMBEDDING = "base.encoder.weight"
_LAYERS = "base.transformer_encoder.layers"
_LAYER = re.compile(r"(?:base\.)?transformer_encoder\.layers\.([0-9]{1,9})\.")


def read_lab_checkpoint(path: Path, read_tokenizer: Callable[[int], Tokenizer]) -> ForeignBase:
    """Return the base in a checkpoint; `read_tokenizer` is given the rows of the embedding."""
    tensors = read_pickled(path, STATE_DICT)
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    model, vocab = _model(shapes, path)
    layout = lab_layout(model)
    require_memory(
        weights_need(model, vocab, [head.spec for head in layout.heads.values()]),
        f"The model in {path}",
        hint="import it on a machine with more memory",
    )
    plan = plan_tensors(
        layout,
        PREFIX,
        model,
        vocab,
        shapes,
        str(path),
        hint="greffe show lab prints the shape of the lab's model",
    )
    return ForeignBase(
        objective="causal",
        model=model,
        vocab=vocab,
        heads=plan.heads,
        tensors=lambda: plan.read(tensors.__getitem__),
        tokenizer=read_tokenizer(vocab),
        files=[path],
        parameters=plan.published(shapes),
        recipe="lab",
    )


def lab_layout(model: ModelSpec) -> Layout:
    """Return the tensors of the lab's files for a number of layers."""
    parts: Parts = {"embedding.weight": copied(_EMBEDDING)}
    for number in range(model.layers):
        block, layer = f"blocks.{number}", f"{_LAYERS}.{number}"
        attention = f"{layer}.self_attn"
        parts[f"{block}.attention.qkv.weight"] = copied(f"{attention}.in_proj_weight")
        parts[f"{block}.attention.qkv.bias"] = copied(f"{attention}.in_proj_bias")
        parts |= linear(f"{block}.attention.out", f"{attention}.out_proj")
        parts |= linear(f"{block}.attention_norm", f"{layer}.norm1")
        parts |= linear(f"{block}.feed_forward.expand", f"{layer}.linear1")
        parts |= linear(f"{block}.feed_forward.contract", f"{layer}.linear2")
        parts |= linear(f"{block}.feed_forward_norm", f"{layer}.norm2")
    head = {name: copied(f"classifier.decoder.{name}") for name in ("weight", "bias")}
    return Layout(
        base=parts,
        heads={"next_token": ForeignHead(NextTokenHead(tied=False), head)},
        ignored=("base.pos_encoder.pe",),
    )


def _model(shapes: Mapping[str, Shape], path: Path) -> tuple[ModelSpec, int]:
    """Return the shape of the base and the rows of its embedding."""
    embedding = shapes.get(_EMBEDDING, shapes.get(_EMBEDDING.removeprefix(PREFIX)))
    layers = _count_layers(shapes)
    if embedding is None or len(embedding) != 2 or not 1 <= layers <= MOST_LAYERS:
        names = ", ".join(list(shapes)[:3])
        raise MismatchError(
            f"{path} is not a checkpoint of the lab.",
            expected=f"{_EMBEDDING} [vocabulary, width], {_LAYERS}.0.…, classifier.decoder.…",
            found=f"{names:.200}, …" if names else "no tensors",
            hint="models in Hugging Face format are imported by their folder",
        )
    model = shipped_recipe("lab").model.model_copy(update={"layers": layers})
    return model, embedding[0]


def _count_layers(names: Iterable[str]) -> int:
    return len({match[1] for name in names if (match := _LAYER.match(name))})

"""A run → a folder in Hugging Face format, which transformers loads with equal outputs.

A class of transformers is used where one computes exactly what the run computes. Otherwise the
folder brings the code of its model along, which transformers only runs with trust_remote_code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from greffe.config.sections import ModelSpec
from greffe.data.portable_tokenizer import portable_tokenizer, special_tokens
from greffe.data.tokenizer import Tokenizer
from greffe.errors import RunError
from greffe.interop.huggingface.config import CONFIG_FILE
from greffe.interop.huggingface.exported_card import exported_card
from greffe.interop.huggingface.family import LANGUAGE_HEADS, Parts, SpecialIds
from greffe.interop.huggingface.files import SAFETENSORS
from greffe.interop.huggingface.own_code import (
    AUTO_CLASSES,
    CODE,
    OWN_CLASSES,
    code,
    own_config,
)
from greffe.interop.huggingface.stock_classes import StockClass, stock_class
from greffe.model.tensor_writer import write_tensors
from greffe.output_folder import CARD_FILE
from greffe.run import Manifest, RunDirectory
from greffe.storage import write_atomic, write_json
from greffe.training.checkpoint import load_tokenizer, run_weights


@dataclass(frozen=True)
class HuggingFaceExport:
    """What was written."""

    architecture: str
    """The class of transformers, or of the code in the folder."""
    auto_class: str
    """The class of transformers that loads it by the folder's name."""
    needs_remote_code: bool
    """Whether it is loaded with trust_remote_code=True only."""
    files: list[str]


def write_huggingface(run: RunDirectory, folder: Path) -> HuggingFaceExport:
    """Write a finished language model or classifier into a folder that exists."""
    manifest = run.manifest()
    _require_model(run, manifest)
    model, tokenizer = run.recipe().model, load_tokenizer(run)
    weights, _ = run_weights(run)
    special = SpecialIds(tokenizer.pad, tokenizer.sos, tokenizer.eos)
    stock = stock_class(model, manifest, special)
    if stock is None:
        config = own_config(model, manifest, special)
        tensors = {name: weights[name] for name in _own_names(weights)}
    else:
        config = {**stock.config.values, "architectures": [stock.name]}
        tensors = dict(_foreign_tensors(model, stock, manifest, weights))
    export = HuggingFaceExport(
        architecture=config["architectures"][0],
        auto_class=AUTO_CLASSES[_main_head(manifest)],
        needs_remote_code=stock is None,
        files=[
            *(CARD_FILE, CONFIG_FILE, SAFETENSORS, "tokenizer.json", "tokenizer_config.json"),
            *(CODE if stock is None else ()),
        ],
    )
    card = exported_card(
        run,
        tokenizer,
        export.architecture,
        export.auto_class,
        needs_remote_code=export.needs_remote_code,
    )
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    write_tensors(folder / SAFETENSORS, shapes, tensors.items(), {"format": "pt"})
    content = portable_tokenizer(tokenizer, reads_specials=True)
    write_atomic(folder / "tokenizer.json", content.encode())
    write_json(folder / "tokenizer_config.json", _tokenizer_config(tokenizer, model))
    for name in CODE if stock is None else ():
        write_atomic(folder / name, code(name))
    write_atomic(folder / CARD_FILE, card.encode("utf-8", "replace"))
    write_json(folder / CONFIG_FILE, {**config, "dtype": "float32"})
    return export


def _require_model(run: RunDirectory, manifest: Manifest) -> None:
    if manifest.kind == "linear":
        raise RunError(
            f"{run.name} cannot be written in Hugging Face format.",
            expected="a language model or a fine-tuned classifier",
            found="an ensemble or a linear model, which no class of transformers expresses",
            hint="greffe export RUN --format onnx writes it for other programs",
        )
    run.require_finished()


def _main_head(manifest: Manifest) -> str:
    """Return the head that a run is for; "" for a base without one."""
    return next((kind for kind in OWN_CLASSES if kind in manifest.heads), "")


def _tokenizer_config(tokenizer: Tokenizer, model: ModelSpec) -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{f"{role}_token": name for role, name in special_tokens(tokenizer).items()},
        "model_max_length": model.context,
        "padding_side": "right",
        "truncation_side": "right",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
    }


def _own_names(weights: Mapping[str, Tensor]) -> list[str]:
    """Return the tensors that the code in the folder uses; they keep their names."""
    prefixes = ("base.", *(f"heads.{kind}." for kind in OWN_CLASSES if kind))
    return sorted(name for name in weights if name.startswith(prefixes))


def _foreign_tensors(
    model: ModelSpec, stock: StockClass, manifest: Manifest, weights: Mapping[str, Tensor]
) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors under the names that a class of transformers has for them."""
    layout = stock.family.layout(model, stock.config)
    has_head = any(kind in manifest.heads for kind in LANGUAGE_HEADS)
    prefix = "" if has_head else stock.family.prefix  # a bare base has names without it
    parts: Parts = {f"base.{name}": part for name, part in layout.base.items()}
    repeated: dict[str, str] = {}
    for kind in layout.heads.keys() & manifest.heads.keys():
        head = layout.heads[kind]
        parts |= {f"heads.{kind}.{name}": part for name, part in head.parts.items()}
        # A tied head has one bias under two names, another head has two.
        repeated |= {} if model.tied else head.other_names
    for name, part in sorted(parts.items()):
        for source, tensor in zip(part.sources, part.split(weights[name]), strict=True):
            for each in dict.fromkeys((source, repeated.get(source, source))):
                yield each.removeprefix(prefix), tensor

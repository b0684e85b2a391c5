"""Runs of every family go back to their own class of transformers, and come back from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tests.unit.interop.huggingface.exported import (
    check_import,
    check_outputs,
    export,
    load,
    shape_of,
    write_run,
)

from greffe.config.components import Direction
from greffe.config.sections import ModelSpec
from greffe.data.tokenizer import Tokenizer
from greffe.interop.huggingface.family import Family, SpecialIds
from greffe.model.model import build_model

pytestmark = pytest.mark.usefixtures("unsynced")
CASES: list[tuple[str, dict[str, Any]]] = [
    *[(name, {}) for name in sorted(Family.registry)],
    *[(name, {"tied": False}) for name in ("bert", "distilbert", "roberta", "llama", "modernbert")],
    ("bert", {"activation": "gelu_tanh", "head_activation": "gelu_tanh", "dropout": 0.1}),
    ("distilbert", {"activation": "relu", "head_activation": "relu"}),
    ("electra", {"embedding_width": 16}),
    ("gpt2", {"activation": "gelu", "norm_epsilon": 1e-3}),
    ("llama", {"kv_heads": 1, "linear_bias": True, "position": {"kind": "rotary", "base": 500.0}}),
    ("modernbert", {"window": 3, "global_every": 2, "linear_bias": True, "norm_bias": True}),
    ("modernbert", {"window": 0, "global_every": 1, "head_bias": False}),
]
CLASSES = {
    "bert": "BertForMaskedLM",
    "distilbert": "DistilBertForMaskedLM",
    "electra": "ElectraForMaskedLM",
    "gpt2": "GPT2LMHeadModel",
    "llama": "LlamaForCausalLM",
    "modernbert": "ModernBertForMaskedLM",
    "roberta": "RobertaForMaskedLM",
}


def reading(family: str) -> tuple[str, Direction]:
    is_causal = Family.registry[family].objective == "causal"
    return ("next_token", "causal") if is_causal else ("masked_token", "bidirectional")


@pytest.mark.parametrize(("name", "changes"), CASES)
def test_a_language_model_of_a_family(
    name: str, changes: dict[str, Any], tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    head, direction = reading(name)
    layers = 4 if name == "modernbert" else 2  # every third block of four is told from every other
    model = shape_of(name, **{"layers": layers, **changes})
    run = write_run(tmp_path / "run", tiny_tokenizer, model, [head], [direction])
    folder = tmp_path / "folder"
    written = export(run, folder)
    assert written.architecture == CLASSES[name]
    assert not written.needs_remote_code
    check_outputs(run, load(written, folder), head, causal=direction == "causal")

    again = check_import(run, folder)
    ids = tiny_tokenizer.wrap(tiny_tokenizer.encode("Ce livre")).tolist()
    assert transformers.AutoTokenizer.from_pretrained(folder)("Ce livre").input_ids == ids
    assert again.tokenizer.wrap(again.tokenizer.encode("Ce livre")).tolist() == ids


@pytest.mark.parametrize(
    "changes", [{}, {"tied": False, "position": {"kind": "rotary", "base": 90}}]
)
def test_a_masked_model_of_greffe_is_an_esm(
    changes: dict[str, Any], tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    model = shape_of("small", **changes)
    run = write_run(tmp_path / "run", tiny_tokenizer, model, ["masked_token"])
    written = export(run, tmp_path / "folder")
    assert (written.architecture, written.needs_remote_code) == ("EsmForMaskedLM", False)
    check_outputs(run, load(written, tmp_path / "folder"), "masked_token", causal=False)
    assert check_import(run, tmp_path / "folder").objective == "masked"
    ids = tiny_tokenizer.wrap(tiny_tokenizer.encode("Ce livre")).tolist()
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "folder")
    assert theirs("Ce livre").input_ids == ids
    # What it lacks is not written as one.
    gated = shape_of("small", **changes, gated=True)
    run = write_run(tmp_path / "gated", tiny_tokenizer, gated, ["masked_token"])
    assert export(run, tmp_path / "gated folder").architecture == "GreffeForMaskedLM"


@pytest.mark.parametrize("name", sorted(Family.registry))
def test_a_base_without_a_head_becomes_the_base_class(
    name: str, tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    _, direction = reading(name)
    heads = ["pooled"] if name in ("bert", "roberta") else []
    run = write_run(
        tmp_path / "run", tiny_tokenizer, shape_of(name, tied=False), heads, [direction]
    )
    written = export(run, tmp_path / "folder")
    assert (written.architecture, written.auto_class) == (
        Family.registry[name].classes[""],
        "AutoModel",
    )
    theirs = load(written, tmp_path / "folder")
    check_outputs(run, theirs, "", causal=direction == "causal")


def test_a_pooler_comes_along(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    heads = ["masked_token", "pooled"]
    run = write_run(tmp_path / "run", tiny_tokenizer, shape_of("bert"), heads)
    written = export(run, tmp_path / "folder")
    assert written.architecture == "BertForMaskedLM"
    own = check_outputs(run, load(written, tmp_path / "folder", "AutoModel"), "", causal=False)
    rows = torch.randint(5, tiny_tokenizer.size, (2, 9))
    with torch.inference_mode():
        pooled = load(written, tmp_path / "folder", "AutoModel")(rows).pooler_output
        torch.testing.assert_close(own(rows, "pooled", causal=False), pooled, atol=1e-4, rtol=0)
    check_import(run, tmp_path / "folder")


@pytest.mark.parametrize(("name", "changes"), CASES)
def test_parts_are_joined_again_after_splitting(name: str, changes: dict[str, Any]) -> None:
    family, model = Family.registry[name], shape_of(name, **changes)
    config = family.config(model, 61, SpecialIds(pad=1, first=0, last=2))
    layout = family.layout(model, config)
    specs = {kind: head.spec for kind, head in layout.heads.items()}
    weights = build_model(model, 61, specs, seed=3).state_dict()
    parts = {f"base.{key}": part for key, part in layout.base.items()}
    for kind, head in layout.heads.items():
        parts |= {f"heads.{kind}.{key}": part for key, part in head.parts.items()}
    assert parts.keys() == weights.keys()
    for key, part in parts.items():
        pieces = part.split(weights[key])
        assert len(pieces) == len(part.sources)
        assert torch.equal(part.join(*pieces), weights[key]), key


def test_a_matrix_is_not_written_twice(tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    sizes = {}
    for tied in (True, False):
        model = shape_of("gpt2", tied=tied)
        run = write_run(tmp_path / f"{tied}", tiny_tokenizer, model, ["next_token"], ["causal"])
        export(run, tmp_path / f"{tied} folder")
        sizes[tied] = (tmp_path / f"{tied} folder" / "model.safetensors").stat().st_size
    matrix = 4 * 24 * tiny_tokenizer.size
    assert matrix <= sizes[False] - sizes[True] < 1.1 * matrix


def test_a_native_base_with_the_choices_of_a_family_is_one(
    tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    def architecture(number: int, recipe: str, **changes: Any) -> str:
        model = ModelSpec.model_validate(
            {**shape_of(recipe).model_dump(mode="json"), "family": "greffe", **changes}
        )
        head, direction = reading(recipe)
        run = write_run(tmp_path / f"run {number}", tiny_tokenizer, model, [head], [direction])
        return export(run, tmp_path / f"folder {number}").architecture

    assert architecture(1, "gpt2") == "GPT2LMHeadModel"
    assert architecture(2, "llama") == "LlamaForCausalLM"
    assert architecture(3, "modernbert") == "ModernBertForMaskedLM"
    assert architecture(4, "bert") == "BertForMaskedLM"
    # A bias of the vocabulary's scores, which GPT-2 lacks; a gate, which BERT lacks.
    assert architecture(5, "gpt2", head_bias=True) == "GreffeForCausalLM"
    assert architecture(6, "bert", gated=True) == "GreffeForMaskedLM"


def test_padding_that_ends_texts_is_not_for_roberta(
    tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    assert Family.registry["roberta"].suits(SpecialIds(pad=1, first=0, last=2))
    assert not Family.registry["roberta"].suits(SpecialIds(pad=2, first=0, last=2))

"""The verb show: exact counts, runs, drawings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertModel

from greffe.config.sections import ModelSpec
from greffe.interop.huggingface import families
from greffe.interop.huggingface.assemble import plan_tensors
from greffe.interop.huggingface.config import Config
from greffe.interop.huggingface.family import Family
from greffe.model.parameters import account, with_published

assert families
Command = Callable[..., Any]


@pytest.mark.parametrize("target", ["lab", "recipes/lab.toml"])
def test_json_counts_the_lab_exactly(command: Command, target: str) -> None:
    found = json.loads(command("show", target, "--json").out)
    assert found["base"] == {"closed": 10_968_200, "counted": 10_968_200}
    assert found["heads"]["classification"]["total"] == 10_968_602
    assert found["heads"]["next_token"]["total_counted"] == 21_018_401


def test_a_run_is_shown_with_its_parameters(command: Command, classifier: Path) -> None:
    found = json.loads(command("show", classifier, "--json").out)
    assert found["run"]["kind"] == "classifier"
    text = command("show", classifier).out
    assert "classifier" in text and f"{found['base']['counted']:,}" in text


@pytest.mark.parametrize("recipe", ["", "[model]\nwidth = 64\n"])
@pytest.mark.parametrize("words", [(), ("mask",)])
def test_a_recipe_that_is_not_of_the_weights_is_not_shown(
    command: Command, classifier: Path, recipe: str, words: tuple[str, ...]
) -> None:
    (classifier / "recipe.toml").write_text(recipe)
    outcome = command("show", *words, classifier)
    assert outcome.code == 3 and outcome.out == ""
    assert "do not fit" in outcome.err


@pytest.mark.parametrize("kind", ["mask", "positions"])
def test_drawings_in_the_terminal_and_as_files(
    command: Command, classifier: Path, tmp_path: Path, kind: str
) -> None:
    assert len(command("show", kind).out.splitlines()) > 10
    assert len(command("show", kind, classifier).out.splitlines()) > 10
    for suffix in ("png", "svg"):
        path = tmp_path / f"{kind}.{suffix}"
        assert command("show", kind, "lab", "--out", path).code == 0
        assert path.stat().st_size > 1000
    assert command("show", kind, "lab", "--out", tmp_path / "x.bmp").code == 2


def test_a_mask_has_the_direction_of_its_run(command: Command, classifier: Path) -> None:
    causal, bidirectional = (
        command("show", "mask", of, "--size", 6).out for of in ("lab", classifier)
    )
    assert causal != bidirectional


def test_a_recipe_is_shown_with_the_memory_of_its_pretraining(command: Command) -> None:
    found = json.loads(command("show", "small", "--json").out)["memory"]
    assert found["total"] == sum(found[name] for name in ("weights", "optimizer", "activations"))
    assert f"{found['total'] / 1e6:.0f} MB of memory" in command("show", "small").out


def test_a_drawing_is_not_json(command: Command) -> None:
    outcome = command("show", "mask", "lab", "--json")
    assert outcome.code == 2 and outcome.out == ""
    assert "greffe show lab --json" in outcome.err


@pytest.mark.parametrize(
    ("shape", "published"),
    [
        ({}, 109_482_240),  # BERT-base
        (
            {
                "hidden_size": 384,
                "num_hidden_layers": 6,
                "num_attention_heads": 12,
                "intermediate_size": 1536,
            },
            22_713_216,  # MiniLM-L6
        ),
    ],
)
def test_an_imported_base_is_counted_as_it_was_published(
    shape: dict[str, int], published: int
) -> None:
    """Formula and count, from a configuration and the shapes of a file: no weight is made."""
    theirs = BertConfig(**shape)
    with torch.device("meta"):
        state = BertModel(theirs).state_dict()
    family, config = Family.registry["bert"], Config(theirs.to_dict(), "config.json")
    model = ModelSpec.model_validate({**family.model(config), "family": "bert"})
    shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
    layout = family.layout(model, config)
    plan = plan_tensors(layout, family.prefix, model, theirs.vocab_size, shapes, "test")
    own = account(model, theirs.vocab_size, plan.heads)
    own = with_published(own, model, layout.folded, plan.published(shapes))
    total = own.published[-1]
    assert total.closed == total.counted == published
    assert own.to_json()["published"]["closed"] == published


def test_an_imported_run_and_its_source_are_shown(command: Command, tiny_bert: Path) -> None:
    shown = command("show", str(tiny_bert)).out
    assert "pooled head" in shown and "masked token head" in shown
    assert "classification head" not in shown  # only the heads that it has
    assert "token types" in shown and "as published" in shown
    assert str(tiny_bert)[-20:] in shown

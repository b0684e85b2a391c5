"""Parameters by formula: the same as in a model that is built."""

from __future__ import annotations

import re

import pytest

from greffe.config.recipe_files import builtin_recipes, load_recipe
from greffe.model.adapters import add_adapters, is_adapter
from greffe.model.formulas import (
    BASE_PARTS,
    base_formulas,
    count_parameters,
    lora_formula,
    lora_formulas,
)
from greffe.model.model import empty_model
from greffe.model.parameters import default_heads


@pytest.mark.parametrize("name", builtin_recipes())
def test_the_formulas_count_what_a_model_has(name: str) -> None:
    recipe = load_recipe(name)
    heads = default_heads(recipe.model)
    model = empty_model(recipe.model, recipe.tokenizer.vocab, heads)
    counted = sum(parameter.numel() for parameter in model.parameters())
    assert count_parameters(recipe.model, recipe.tokenizer.vocab, heads.values()) == counted


def test_the_lab_has_the_parameters_of_the_lab() -> None:
    recipe = load_recipe("lab")
    formulas = base_formulas(recipe.model, recipe.tokenizer.vocab)
    assert sum(formulas[part][1] for part in BASE_PARTS if part in formulas) == 10_968_200


@pytest.mark.parametrize("freeze", ["0", "3", "base"])
@pytest.mark.parametrize("gated", ["true", "false"])
def test_lora_trains_what_its_formula_says(freeze: str, gated: str) -> None:
    recipe = load_recipe("small").with_changes(
        [
            *("model.heads=4", "model.kv_heads=2", f"model.gated={gated}", "train.lora.rank=5"),
            *('train.lora.targets=["qkv", "out", "expand", "contract"]', f"train.freeze={freeze}"),
        ]
    )
    spec, train, vocab = recipe.model, recipe.train, recipe.tokenizer.vocab
    heads = default_heads(spec)
    model = empty_model(spec, vocab, heads)
    before = sum(parameter.numel() for parameter in model.parameters())
    add_adapters(model.base.blocks[train.frozen_blocks(spec.layers) :], train.lora)
    counts = {name: parameter.numel() for name, parameter in model.named_parameters()}
    for target, (_, value) in lora_formulas(spec, train).items():
        found = [name for name in counts if f".{target}." in name and is_adapter(name)]
        assert value == sum(counts[name] for name in found)
        assert len(found) == 2 * (spec.layers - train.frozen_blocks(spec.layers))
    in_heads = sum(count for name, count in counts.items() if name.startswith("heads."))
    formula, trained = lora_formula(spec, vocab, heads.values(), train)
    assert trained == sum(counts.values()) - before + in_heads
    written = re.sub(r" \([a-z]+\)", "", formula).replace("×", "*").replace(",", "")
    assert eval(written, {}) == trained


def test_the_formula_of_lora_is_readable() -> None:
    changes = ["train.lora.rank=8", "model.width=768", "model.heads=12", "model.layers=12"]
    recipe = load_recipe("small").with_changes(changes)
    assert lora_formula(recipe.model, 1, [], recipe.train) == (
        "12 × 8 × (768 + 2304) (qkv) + 12 × 8 × (768 + 768) (out) + 0 (heads)",
        442_368,
    )

"""The verb show: exact counts, runs, drawings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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

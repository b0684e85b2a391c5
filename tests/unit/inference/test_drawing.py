from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.errors import InputError, MissingExtraError, RunError
from greffe.inference.drawing import draw_mask, draw_positions, mask_text, positions_text
from greffe.model.positions.alibi import Alibi
from greffe.model.positions.none import NoPosition
from greffe.model.positions.sinusoidal import Sinusoidal

torch.set_num_threads(1)

KINDS = list(PositionSpec.kinds().values())


def spec_of(kind: type, heads: int = 3) -> ModelSpec:
    return ModelSpec(width=4 * heads, heads=heads, context=10, position=kind())


def test_causal_mask_in_the_terminal():
    assert mask_text(True, 3).splitlines() == [
        "Causal attention mask",
        "██ may attend   ·· may not",
        "",
        "  key token, 0 to 2 →",
        "0 ██····",
        "1 ████··",
        "2 ██████",
        "↑ query token",
    ]


def test_bidirectional_mask_in_the_terminal():
    cells = "".join(mask_text(False, 4).splitlines()[4:-1])
    assert cells.count("█") == 2 * 16
    assert "·" not in cells


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_text_never_wraps_and_is_titled(kind, columns):
    text = positions_text(ModelSpec(width=256, heads=8, position=kind()), 12, columns=columns)
    lines = text.splitlines()
    assert "positions" in lines[0].lower()
    drawn = [line for line in lines if set(line) & set("░▒▓█") and "is" not in line]
    assert bool(drawn) is (kind is not NoPosition)
    assert all(len(line) <= columns for line in drawn)


def test_text_says_when_columns_are_left_out():
    spec = ModelSpec(width=256, heads=8, position=Sinusoidal())
    assert "0 to 76 → (of 256)" in positions_text(spec, columns=80)
    assert "of 256" not in positions_text(spec, columns=300)


def test_shades_follow_the_values():
    first_row = positions_text(spec_of(Sinusoidal), 2).splitlines()[4]
    # Position 0: sines are 0, in the middle of the scale, and cosines 1, at its end.
    assert first_row == "0 " + "▒▒██" * 6


def test_one_token_is_a_drawing_too():
    assert "██" in mask_text(True, 1)
    assert "██" in positions_text(spec_of(Alibi), 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("heads", [1, 3])
def test_positions_as_png_and_svg(kind, heads, tmp_path):
    spec = spec_of(kind, heads)
    draw_positions(tmp_path / "made" / "drawing.png", spec)
    draw_positions(tmp_path / "drawing.SVG", spec)
    assert (tmp_path / "made" / "drawing.png").read_bytes().startswith(b"\x89PNG")
    words = _words(tmp_path / "drawing.SVG")
    assert "positions" in words.lower()
    if kind is Alibi:
        assert f"head {heads - 1}" in words
        assert "added to the attention score" in words
    assert sorted(item.name for item in tmp_path.iterdir()) == ["drawing.SVG", "made"]


def test_mask_as_svg_is_labelled_and_always_the_same(tmp_path):
    for name in ("one.svg", "two.svg"):
        draw_mask(tmp_path / name, causal=True, size=5)
    words = _words(tmp_path / "one.svg")
    for word in ("Causal attention mask", "query token", "key token", "may not"):
        assert word in words
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize("name", ["mask.pdf", "mask"])
def test_another_suffix_is_refused(name, tmp_path):
    with pytest.raises(InputError) as caught:
        draw_mask(tmp_path / name, causal=True)
    assert ".png or .svg" in str(caught.value)
    assert "mask.png" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(RunError, match="could not write"):
        draw_mask(tmp_path / "taken" / "mask.png", causal=True)


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError) as caught:
        draw_mask(tmp_path / "mask.png", causal=True)
    assert "greffe[plot]" in str(caught.value)


def _words(path: Path) -> str:
    return " ".join(ElementTree.fromstring(path.read_text("utf-8")).itertext())

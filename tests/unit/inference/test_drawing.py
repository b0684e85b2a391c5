from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import torch

from greffe.config.components import PositionSpec
from greffe.config.sections import ModelSpec
from greffe.errors import InputError, MissingExtraError, RunError
from greffe.inference.drawing import draw_text, save_figure
from greffe.inference.model_diagrams import mask_diagram, positions_diagram
from greffe.model.positions.alibi import Alibi
from greffe.model.positions.none import NoPosition
from greffe.model.positions.sinusoidal import Sinusoidal

torch.set_num_threads(1)

KINDS = list(PositionSpec.kinds().values())


def spec_of(kind: type, heads: int = 3) -> ModelSpec:
    return ModelSpec(width=4 * heads, heads=heads, context=10, position=kind())


def test_causal_mask_in_the_terminal():
    assert draw_text(mask_diagram(True, 3)).splitlines() == [
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
    cells = "".join(draw_text(mask_diagram(False, 4)).splitlines()[4:-1])
    assert cells.count("█") == 2 * 16
    assert "·" not in cells


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_text_never_wraps_and_is_titled(kind, columns):
    spec = ModelSpec(width=256, heads=8, position=kind())
    text = draw_text(positions_diagram(spec, 12), columns)
    lines = text.splitlines()
    assert "positions" in lines[0].lower()
    drawn = [line for line in lines if set(line) & set("░▒▓█") and "is" not in line]
    assert bool(drawn) is (kind is not NoPosition)
    assert all(len(line) <= columns for line in drawn)


def test_text_says_when_columns_are_left_out():
    diagram = positions_diagram(ModelSpec(width=256, heads=8, position=Sinusoidal()), 24)
    assert "0 to 76 → (of 256)" in draw_text(diagram, 80)
    assert "of 256" not in draw_text(diagram, 300)


def test_shades_follow_the_values():
    first_row = draw_text(positions_diagram(spec_of(Sinusoidal), 2)).splitlines()[4]
    # Position 0: sines are 0, in the middle of the scale, and cosines 1, at its end.
    assert first_row == "0 " + "▒▒██" * 6


def test_one_token_is_a_drawing_too():
    assert "██" in draw_text(mask_diagram(True, 1))
    assert "██" in draw_text(positions_diagram(spec_of(Alibi), 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("heads", [1, 3])
def test_positions_as_png_and_svg(kind, heads, tmp_path):
    diagram = positions_diagram(spec_of(kind, heads), 10)
    save_figure(diagram, tmp_path / "made" / "drawing.png")
    save_figure(diagram, tmp_path / "drawing.SVG")
    assert (tmp_path / "made" / "drawing.png").read_bytes().startswith(b"\x89PNG")
    words = _words(tmp_path / "drawing.SVG")
    assert "positions" in words.lower()
    if kind is Alibi:
        assert f"head {heads - 1}" in words
        assert "added to the attention score" in words
    assert sorted(item.name for item in tmp_path.iterdir()) == ["drawing.SVG", "made"]


def test_mask_as_svg_is_labelled_and_always_the_same(tmp_path):
    for name in ("one.svg", "two.svg"):
        save_figure(mask_diagram(True, 5), tmp_path / name)
    words = _words(tmp_path / "one.svg")
    for word in ("Causal attention mask", "query token", "key token", "may not"):
        assert word in words
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize("name", ["mask.pdf", "mask"])
def test_another_suffix_is_refused(name, tmp_path):
    with pytest.raises(InputError) as caught:
        save_figure(mask_diagram(True, 16), tmp_path / name)
    assert ".png or .svg" in str(caught.value)
    assert "mask.png" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_instead_of_a_folder_is_an_error(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        save_figure(mask_diagram(True, 16), tmp_path / "taken" / "mask.png")


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError) as caught:
        save_figure(mask_diagram(True, 16), tmp_path / "mask.png")
    assert "greffe[plot]" in str(caught.value)


def _words(path: Path) -> str:
    return " ".join(ElementTree.fromstring(path.read_text("utf-8")).itertext())

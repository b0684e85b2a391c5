"""The style sheet and the script: complete, contained, readable in every theme."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from greffe.report.charts.styles import SLOTS

CSS = (files("greffe.report") / "assets" / "report.css").read_text("utf-8")
SCRIPT = (files("greffe.report") / "assets" / "report.js").read_text("utf-8")

THEMES = {
    "light": ":root {",
    "dark": ':root[data-theme="dark"] {',
    "dark by system": ':root:not([data-theme="light"]) {',
    "print": ":root:root {",
}


def colours(selector: str) -> dict[str, str]:
    block = CSS.split(selector, 1)[1].split("}", 1)[0]
    return dict(re.findall(r"--([\w-]+): ([^;]+);", block))


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    shares = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", THEMES)
def test_text_can_be_read_in_every_theme(theme: str) -> None:
    found = colours(THEMES[theme])
    for text in ("ink", "soft", "link"):
        for ground in ("paper", "wash"):
            assert contrast(found[text], found[ground]) >= 4.5, (text, ground)
    for severity in ("serious", "warning"):
        assert contrast(found[severity], found[f"{severity}-wash"]) >= 4.5
        assert contrast(found["ink"], found[f"{severity}-wash"]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_every_series_stands_out(theme: str) -> None:
    found = colours(THEMES[theme])
    series = [found[f"series-{slot + 1}"] for slot in range(SLOTS)]
    assert len(set(series)) == SLOTS
    assert all(contrast(colour, found["paper"]) >= 3 for colour in series)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_numbers_can_be_read_in_the_darkest_cell(theme: str) -> None:
    from greffe.report.charts.confusion import DARKEST

    found = colours(THEMES[theme])
    for hue in ("series-1", "series-2"):
        over, under = _bytes(found[hue]), _bytes(found["paper"])
        pairs = zip(over, under, strict=True)
        mixed = bytes(round(DARKEST * a + (1 - DARKEST) * b) for a, b in pairs)
        assert contrast(found["ink"], f"#{mixed.hex()}") >= 4.5


def _bytes(colour: str) -> bytes:
    return bytes.fromhex(colour[1:])


def test_both_ways_to_dark_are_the_same() -> None:
    assert colours(THEMES["dark"]) == colours(THEMES["dark by system"])


def test_every_theme_knows_every_colour() -> None:
    names = [set(colours(selector)) for selector in THEMES.values()]
    assert all(each == names[0] for each in names)
    used = set(re.findall(r"var\(--([\w-]+)\)", CSS)) - {"hue", "dash", "strength"}
    assert used <= names[0]


def test_every_slot_has_colour_and_dash() -> None:
    dashes = re.findall(r"\.s(\d+) \{ --hue: var\(--series-\1\); --dash: ([^;]+); \}", CSS)
    assert [int(slot) for slot, _ in dashes] == list(range(1, SLOTS + 1))
    assert len({dash for _, dash in dashes}) == SLOTS


def test_nothing_is_fetched_and_nothing_ends_the_element_early() -> None:
    allowed = "http://www.w3.org/2000/svg"
    for text in (CSS, SCRIPT.replace(allowed, "")):
        assert "http" not in text and "url(" not in text and "@import" not in text
        assert "</" not in text
    assert CSS.count("{") == CSS.count("}")

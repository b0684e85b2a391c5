"""Draw a diagram as text for a terminal or as a PNG or SVG file."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from greffe.errors import InputError, MissingExtraError
from greffe.model.diagrams import Diagram, Panel
from greffe.storage import check_writable, disk_error, write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADES = " ░▒▓█"
YES, NO = "█", "·"
SUFFIXES = (".png", ".svg")
COLOUR_YES, COLOUR_NO = "#2b5c8a", "#e3e6ea"
LARGEST_RULED = 32


# --- in the terminal ----------------------------------------------------------------------------


def draw_text(diagram: Diagram, columns: int = 80) -> str:
    """Return all panels of a diagram as text, side by side where they fit into `columns`."""
    if not diagram.panels:
        return diagram.title.text
    blocks = [_panel_lines(panel, diagram, columns) for panel in diagram.panels]
    return "\n".join([diagram.title.text, _legend(diagram), "", *_beside(blocks, columns)])


def _panel_lines(panel: Panel, diagram: Diagram, columns: int) -> list[str]:
    rows, count = panel.values.shape
    margin = len(str(rows - 1)) + 1
    available = columns - margin
    # Characters are about twice as high as wide: two of them are square.
    cell = 2 if 2 * count <= available else 1
    shown = min(count, available)
    lines = [panel.title.text] if panel.title else []
    lines += [f"{'':{margin}}{panel.column_label.text}, 0 to {shown - 1} →"]
    if shown < count:
        lines[-1] += f" (of {count})"
    for row in range(rows):
        signs = (_sign(float(value), diagram) * cell for value in panel.values[row, :shown])
        lines.append(f"{row:>{margin - 1}} {''.join(signs)}")
    return [*lines, f"↑ {panel.row_label.text}"]


def _sign(value: float, diagram: Diagram) -> str:
    if diagram.is_choice:
        return YES if value else NO
    width = diagram.high - diagram.low
    fraction = (value - diagram.low) / width if width > 0 else 1.0
    return SHADES[min(int(fraction * len(SHADES)), len(SHADES) - 1)]


def _legend(diagram: Diagram) -> str:
    if diagram.is_choice:
        return f"{YES * 2} {diagram.meaning.text}   {NO * 2} may not"
    ends = f"blank is {diagram.low:.3g}, {SHADES[-1] * 2} is {diagram.high:.3g}"
    return f"{diagram.meaning.text}: {ends}"


def _beside(blocks: list[list[str]], columns: int, gap: int = 3) -> list[str]:
    width = max(len(line) for block in blocks for line in block)
    abreast = max(1, (columns + gap) // (width + gap))
    lines = []
    for start in range(0, len(blocks), abreast):
        group = blocks[start : start + abreast]
        for parts in zip(*group, strict=True):
            lines.append((" " * gap).join(f"{part:{width}}" for part in parts).rstrip())
        lines.append("")
    return lines[:-1]


# --- as a file ----------------------------------------------------------------------------------


def save_figure(diagram: Diagram, path: Path) -> None:
    """Write a diagram as .png or .svg, by suffix; the folder is created if necessary."""
    check_figure(path)
    import matplotlib
    from matplotlib.figure import Figure

    kind = path.suffix.lower()
    # Keep text as text in an SVG, and make the output reproducible.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "greffe"}):
        figure = Figure(layout="constrained", dpi=150)
        _compose(figure, diagram)
        buffer = io.BytesIO()
        metadata = {"Date": None} if kind == ".svg" else None
        figure.savefig(buffer, format=kind[1:], metadata=metadata)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, path) from error
    write_atomic(path, buffer.getvalue())


def check_figure(path: Path) -> None:
    """Raise an error if no figure can be written to this path."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"Cannot draw to {path}: unsupported format.",
            expected=f"a name that ends in {' or '.join(SUFFIXES)}",
            found=repr(path.suffix) if path.suffix else "no suffix",
            hint="for example --out mask.png",
        )
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "Drawing to a file") from None
    check_writable(path.parent)


def _compose(figure: Figure, diagram: Diagram) -> None:
    if not diagram.panels:
        figure.set_size_inches(7, 1.2)
        figure.text(0.5, 0.5, diagram.title.text, ha="center", va="center")
        return
    abreast = min(len(diagram.panels), math.ceil(math.sqrt(len(diagram.panels))))
    stacked = math.ceil(len(diagram.panels) / abreast)
    figure.set_size_inches(*_inches(diagram, abreast, stacked))
    figure.suptitle(diagram.title.text)
    grid: list[Axes] = list(figure.subplots(stacked, abreast, squeeze=False).flat)
    for axes in grid[len(diagram.panels) :]:
        axes.set_visible(False)
    for index, panel in enumerate(diagram.panels):
        _fill(grid[index], panel, diagram)
        # Only the leftmost and the lowest panels have labels.
        if index % abreast:
            grid[index].set_ylabel("")
            grid[index].tick_params(labelleft=False)
        if index + abreast < len(diagram.panels):
            grid[index].set_xlabel("")
            grid[index].tick_params(labelbottom=False)
    if diagram.is_choice:
        _explain_colours(figure, diagram)
    else:
        figure.colorbar(grid[0].images[0], ax=grid, label=diagram.meaning.text)


def _inches(diagram: Diagram, abreast: int, stacked: int) -> tuple[float, float]:
    rows, columns = diagram.panels[0].values.shape
    if rows == columns and (diagram.is_choice or len(diagram.panels) > 1):
        side = 4.8 if len(diagram.panels) == 1 else 2.6
        return side * abreast + 1.0, side * stacked + 0.9
    return 7.0, 4.8


def _fill(axes: Axes, panel: Panel, diagram: Diagram) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.ticker import MaxNLocator

    if diagram.is_choice:
        colours: ListedColormap | str = ListedColormap([COLOUR_NO, COLOUR_YES])
    else:
        colours = "RdBu_r" if diagram.low < 0 < diagram.high else "viridis"
    is_square = diagram.is_choice or len(diagram.panels) > 1
    axes.imshow(
        panel.values.numpy(),
        cmap=colours,
        vmin=diagram.low,
        vmax=diagram.high,
        aspect="equal" if is_square else "auto",
        interpolation="nearest",
    )
    axes.set_title(panel.title.text if panel.title else "", fontsize="medium")
    axes.set_xlabel(panel.column_label.text)
    axes.set_ylabel(panel.row_label.text)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if diagram.is_choice and len(panel.values) <= LARGEST_RULED:
        _rule(axes, panel.values)


def _rule(axes: Axes, values: Tensor) -> None:
    """Draw white lines between the cells."""
    rows, columns = values.shape
    axes.set_yticks([row + 0.5 for row in range(rows - 1)], minor=True)
    axes.set_xticks([column + 0.5 for column in range(columns - 1)], minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)


def _explain_colours(figure: Figure, diagram: Diagram) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=COLOUR_YES, label=diagram.meaning.text),
        Patch(facecolor=COLOUR_NO, label="may not"),
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=2, frameon=False)

"""Colours and figures: one palette for pictures and for the page, readable on light and on dark ground."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hypergraph.errors import InputError
from hypergraph.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours without black, yellow darkened to be seen on white, then five of Paul Tol's:
# distinct to colour-blind eyes, and none is lost on white or on black.
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#b8a200",
    "#8c8c8c",
    "#6a4fc8",
    "#4f8a10",
    "#b0306a",
    "#3aa6a6",
)
INK = "#7d7d7d"  # text and lines: a grey that is seen on both grounds
ACCENT = "#d55e00"
RIGHT_WRONG = ("#56b4e9", "#d55e00")
FORMATS = (".png", ".svg", ".pdf")


def class_colours(count: int) -> list[str]:
    """A colour for each class: the palette, and beyond it steps of a map that is even to every eye."""
    if count <= len(PALETTE):
        return list(PALETTE[:count])
    return _steps(count, "viridis")


def ramp() -> list[str]:
    """The colours of a quantity, from low to high."""
    return _steps(32, "viridis")


def _steps(count: int, name: str) -> list[str]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps[name](t)) for t in np.linspace(0.0, 0.95, count)]


def new_axes(width: float = 6.0, height: float = 6.0, **options: Any) -> Axes:
    """Axes of a figure of their own, without pyplot: nothing is registered, nothing has to be closed."""
    return new_figure(width, height).add_subplot(**options)


def new_figure(width: float, height: float) -> Figure:
    """A figure that draws itself, with no ground of its own."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", facecolor="none")
    FigureCanvasAgg(figure)
    return figure


def plain(ax: Axes) -> Axes:
    """Axes for curves: grey text and lines, a faint grid, no box."""
    ax.set_facecolor("none")
    ax.grid(color=INK, alpha=0.25, linewidth=0.6)
    ax.tick_params(colors=INK, labelsize=9)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title):
        text.set_color(INK)
    return ax


def legend(ax: Axes, **options: Any) -> None:
    """A legend in the grey of the text, where there is something to name."""
    if ax.get_legend_handles_labels()[1]:
        options = {"frameon": False, "fontsize": 9, "labelcolor": INK, **options}
        ax.legend(**options)


def save(ax: Axes, out: Path) -> None:
    """Write the figure of ``ax`` to a PNG, SVG or PDF file, with a transparent ground."""
    if out.suffix.lower() not in FORMATS:
        raise InputError(f"{out}: pictures are written as {', '.join(FORMATS)}; end the name with one.")
    figure: Any = ax.get_figure(root=True)
    try:
        with atomic_path(out) as part:
            # tight: a legend beside the disk is never cut off
            figure.savefig(part, dpi=160, transparent=True, bbox_inches="tight", pad_inches=0.08)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}).") from error

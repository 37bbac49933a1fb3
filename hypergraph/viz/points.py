"""Embeddings in the disk, coloured by class, prediction, error or any attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hypergraph.errors import unknown_name
from hypergraph.viz.plane import disk, segment, sheet_to_disk, to_disk
from hypergraph.viz.style import INK, RIGHT_WRONG, class_colours, legend, ramp

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hypergraph.geometry.space import Space
    from hypergraph.viz.scene import Column, Scene

ALL_EDGES = 20_000  # the most edges that a picture of a run shows


def embedding(
    points: Any,
    space: Space,
    label: NDArray[Any] | None = None,
    names: list[str] | None = None,
    ax: Axes | None = None,
    **options: Any,
) -> Axes:
    """Draw points of a 2-dimensional space, coloured by their classes.

    Args:
        points: of shape ``(n, space.ambient(2))``; reduce more dimensions first.
        space: their space.
        label: the class of each point.
        names: the names of the classes, for the legend.
        ax: where to draw.
        **options: as of matplotlib's ``scatter``.

    Example:
        >>> space = PoincareBall(K=-1.0)
        >>> ax = embedding(space.exp0(torch.randn(20, 2)), space, torch.arange(20) % 2, ["even", "odd"])
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['even', 'odd']
    """
    from hypergraph.viz.scene import Column

    ax = ax or disk()
    given = None if label is None else Column(np.asarray(label), names)
    return _scatter(to_disk(points, space), given, "", ax, options)


def scene_axes(scene: Scene, colour: str | None = None, edges: bool = True, ax: Axes | None = None) -> Axes:
    """Draw a scene: edges where they are few, points coloured by a column, and the legend."""
    ax = ax or disk()
    if colour is None:
        colour = next((name for name in ("class", "degree") if name in scene.columns), "")
    elif colour not in scene.columns:
        raise unknown_name("column", colour, scene.columns)
    if edges and 0 < scene.edges.shape[1] <= ALL_EDGES:
        from matplotlib.collections import LineCollection

        lines = [sheet_to_disk(segment(scene.sheet[i], scene.sheet[j])) for i, j in scene.edges.T]
        faint = float(np.clip(400 / len(lines), 0.06, 0.6))
        ax.add_collection(LineCollection(lines, colors=INK, linewidths=0.5, alpha=faint), autolim=False)
    return _scatter(sheet_to_disk(scene.sheet), scene.columns.get(colour), colour, ax, {})


def _scatter(
    z: NDArray[np.float64], column: Column | None, title: str, ax: Axes, options: dict[str, Any]
) -> Axes:
    """Points of the disk; those of small classes last, so that they are not hidden."""
    size = float(np.clip(9000 / max(len(z), 1), 2.5, 30))
    look: dict[str, Any] = {"s": size, "linewidths": 0, "alpha": 0.85, "zorder": 3, **options}
    if column is None:
        ax.scatter(z[:, 0], z[:, 1], color=class_colours(1)[0], **look)
        return ax
    values = column.values
    if column.names is None and values.dtype.kind == "f":
        return _shaded(z, values, title, ax, look)
    codes = values.astype(int)
    count = int(max(codes.max(initial=-1) + 1, len(column.names or ())))
    if column.names is None and count > 12:
        return _shaded(z, values, title, ax, look)
    colours = list(RIGHT_WRONG) if title == "error" else class_colours(count)
    if (codes < 0).any():
        ax.scatter(*z[codes < 0].T, color=INK, label="none", **look)
    sizes = np.bincount(codes[codes >= 0], minlength=count)
    for k in sorted(range(count), key=lambda k: -sizes[k]):
        if sizes[k]:
            name = column.names[k] if column.names else str(k)
            ax.scatter(*z[codes == k].T, color=colours[k], label=name.replace("$", r"\$"), **look)
    if count <= 12:
        handles, labels = ax.get_legend_handles_labels()
        places = {name.replace("$", r"\$"): k for k, name in enumerate(column.names or ())}
        order = sorted(range(len(labels)), key=lambda i: places.get(labels[i], i))
        legend(
            ax,
            handles=[handles[i] for i in order],
            labels=[labels[i] for i in order],
            title=title,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            markerscale=float(np.sqrt(40 / look["s"])),
        )
        if found := ax.get_legend():
            found.get_title().set_color(INK)
    return ax


def _shaded(z: NDArray[np.float64], values: NDArray[Any], title: str, ax: Axes, look: dict[str, Any]) -> Axes:
    from matplotlib.colors import ListedColormap

    order = np.argsort(values, kind="stable")
    drawn = ax.scatter(z[order, 0], z[order, 1], c=values[order], cmap=ListedColormap(ramp()), **look)
    figure: Any = ax.get_figure()
    bar = figure.colorbar(drawn, ax=ax, shrink=0.6, pad=0.02)
    bar.set_label(title, color=INK)
    bar.ax.tick_params(colors=INK, labelsize=9)
    bar.outline.set_visible(False)
    return ax

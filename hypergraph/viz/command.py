"""`hypergraph plot ...`: one command for each picture."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hypergraph.errors import InputError
from hypergraph.viz.scene import Say, quiet
from hypergraph.viz.style import ACCENT, INK, class_colours, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = (-1.5, -0.75, 0.0, 0.75, 1.5)


def plot_horospheres(out: Path, K: float = -1.0, levels: Sequence[float] = LEVELS) -> None:
    """The paper's first figure: horospheres of several levels on the disk and on the hyperboloid."""
    from hypergraph.geometry.space import Lorentz, PoincareBall
    from hypergraph.viz.plane import disk, geodesics, horospheres, hyperboloid

    figure = new_figure(10, 5)
    flat = disk(figure.add_subplot(1, 2, 1))
    solid = hyperboloid(figure.add_subplot(1, 2, 2, projection="3d", computed_zorder=False))
    v, tau = np.array([1.0, 0.0]), np.asarray(levels, dtype=float)
    ball, sheet = PoincareBall(K), Lorentz(K)
    s = (-K) ** 0.5
    for ax, space in ((flat, ball), (solid, sheet)):
        horospheres(v, tau, space, ax, color=ACCENT, linewidth=1.8, zorder=3)
    # the geodesic towards v, along which the Busemann function falls with unit speed
    ends = 0.999 / s * np.array([[-1.0, 0.0], [1.0, 0.0]])
    geodesics(ends[:1], ends[1:], ball, flat, color=INK, linewidth=1.0, linestyle="--")
    flat.plot([1], [0], "o", color=INK, markersize=6, clip_on=False, zorder=5)
    flat.annotate(
        "v", (1, 0), (8, 6), textcoords="offset points", color=INK, fontsize=12, annotation_clip=False
    )
    for level in tau:
        # each horosphere crosses the diameter at the signed distance -level from the centre
        at = -np.tanh(s * level / 2)
        flat.plot([at], [0], ".", color=ACCENT, markersize=5, zorder=4)
        flat.annotate(
            f"{level:g}", (at, 0), (-3, 4), textcoords="offset points", ha="right", color=ACCENT, fontsize=9
        )
    flat.set_title("Poincaré disk", color=INK, fontsize=12)
    solid.set_title("Lorentz model", color=INK, fontsize=12)
    save(flat, out)


def plot_hyperplanes(out: Path, K: float = -1.0) -> None:
    """Hyperplanes beside horospheres: what a hyperplane head and a Busemann head measure distance to."""
    from hypergraph.geometry.space import PoincareBall
    from hypergraph.viz.plane import disk, horospheres, hyperplanes

    space = PoincareBall(K)
    figure = new_figure(10, 5.2)
    left, right = (disk(figure.add_subplot(1, 2, i)) for i in (1, 2))
    colours = class_colours(3)
    s = (-K) ** 0.5
    for k in range(3):
        angle = np.pi / 2 + 2 * np.pi * k / 3
        v = np.array([np.cos(angle), np.sin(angle)])
        for ax in (left, right):
            ax.plot(*v, "o", color=colours[k], markersize=6, zorder=5)
        for shade, distance in zip((1.0, 0.55, 0.3), (0.7, 1.7, 2.7)):
            look: dict[str, Any] = {"color": colours[k], "alpha": shade, "linewidth": 1.5}
            hyperplanes(np.tanh(distance / 2) / s * v, v, space, left, **look)
            horospheres(v, -distance / s, space, right, **look)
    left.set_title("geodesic hyperplanes", color=INK, fontsize=12)
    right.set_title("horospheres", color=INK, fontsize=12)
    save(left, out)


def plot_embedding(
    run: Path,
    out: Path,
    colour: str | None = None,
    method: str = "auto",
    edges: bool = True,
    say: Say = quiet,
) -> None:
    """The points of a run in the disk."""
    from hypergraph.viz.points import scene_axes
    from hypergraph.viz.scene import run_scene

    save(titled(run_scene(run, method, say), lambda scene, ax: scene_axes(scene, colour, edges, ax)), out)


def plot_regions(run: Path, out: Path, method: str = "auto", say: Say = quiet) -> None:
    """The decision regions of a run in the plane of its picture, its points and the class horospheres."""
    from matplotlib.patches import Circle

    from hypergraph.viz.decision import fill_regions
    from hypergraph.viz.points import scene_axes
    from hypergraph.viz.scene import run_scene

    scene = run_scene(run, method, say)
    if not scene.regions:
        raise InputError(f"{run}: this run has no head whose regions could be drawn; use plot embedding.")
    if scene.section:
        say(f"{run}: {scene.section}.")
        scene.note += f"\n{scene.section}"

    def draw(scene: Any, ax: Axes) -> None:
        fill_regions(scene.regions, len(scene.classes), ax)
        colours = class_colours(len(scene.classes))
        for ball in scene.horospheres:
            x, y, r = ball.circle
            look = {"edgecolor": colours[ball.label], "linewidth": 1.2, "zorder": 2}
            ax.add_patch(Circle((x, y), r, fill=False, **look))
        scene_axes(scene, "class" if "class" in scene.columns else None, False, ax)

    save(titled(scene, draw), out)


def titled(scene: Any, draw: Any) -> Axes:
    """A disk with room for a legend, the title of the scene, and how true the picture is."""
    from hypergraph.viz.plane import disk

    ax = disk(new_figure(7.6, 6.4).add_subplot())
    draw(scene, ax)
    ax.set_title(scene.title, color=INK, fontsize=12)
    # under the whole figure: a long legend moves the disk aside
    ax.figure.supxlabel(scene.note, color=INK, fontsize=8)
    return ax


def plot_tree(dataset: str, out: Path, data: str | None = None, length: float | None = None) -> None:
    """A tree, or a breadth-first tree of a graph, by Sarkar's construction."""
    from hypergraph.datasets import load_graph
    from hypergraph.viz.plane import disk
    from hypergraph.viz.sarkar import tree

    graph = load_graph(dataset, data=data)
    ax = disk(new_figure(6.4, 6.6).add_subplot())
    edges = graph.edge_index.numpy()
    label = None if graph.y is None else graph.y.numpy()
    tree(edges[:, edges[0] < edges[1]], int(graph.num_nodes), ax, length, label)
    ax.set_title(f"{graph.name}: {graph.num_nodes} nodes", color=INK, fontsize=12)
    save(ax, out)


def plot_training(
    runs: Sequence[Path], out: Path, metric: str | None = None, names: Sequence[str] = ()
) -> None:
    """The paper's second figure: one metric of several runs."""
    from hypergraph.viz.training import curves

    save(curves(runs, metric, names), out)


def plot_delta(dataset: str, out: Path, data: str | None = None, time_limit: float | None = None) -> None:
    """The bracket around delta as the exact search closes it."""
    from hypergraph.datasets import load_graph
    from hypergraph.hyperbolicity.delta import delta_hyperbolicity
    from hypergraph.viz.training import bracket

    graph = load_graph(dataset, data=data)
    start = time.monotonic()
    trace: list[tuple[float, float, float]] = []

    def watch(lower: float, upper: float, stage: str) -> None:
        trace.append((time.monotonic() - start, lower, upper))

    result = delta_hyperbolicity(graph, time_limit=time_limit, watch=watch)
    trace.append((time.monotonic() - start, result.lower, result.upper))
    ax = bracket(trace)
    found = f"δ = {result.delta:g}" if result.exact else f"{result.lower:g} ≤ δ ≤ {result.upper:g}"
    ax.set_title(f"{graph.name}: {found}", color=INK, fontsize=12)
    save(ax, out)

r"""The Poincaré disk and the hyperboloid, with their geodesics, horospheres and hyperplanes.

Every function takes points of a 2-dimensional :class:`~hypergraph.geometry.space.Space` of any curvature, an
``ax``, and returns it. The disk is drawn with radius 1; on an ``ax`` of three dimensions the curves are drawn
on the hyperboloid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from hypergraph.errors import InputError
from hypergraph.nn.registry import make_space
from hypergraph.viz.style import ACCENT, INK, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hypergraph.geometry.space import Space

Array = NDArray[np.float64]
TOP = 4.0  # the time up to which the hyperboloid is drawn
SAMPLES = 129


def scale(space: Space) -> float:
    """The square root of -K: lengths times it are lengths at curvature -1."""
    if space.flat:
        raise InputError(
            "The disk is a model of hyperbolic space, and these points are Euclidean; "
            "choose a hyperbolic space."
        )
    return float(-space.K) ** 0.5


def to_sheet(points: Any, space: Space) -> Array:
    """Points of a space on the hyperboloid of curvature -1, in float64: time first."""
    s = scale(space)
    x = torch.as_tensor(points).detach().double()
    y = s * make_space(space.model, float(space.K)).double().to_lorentz(x)[..., 1:].numpy()
    # the time again from the rest: float32 points are on the sheet to seven digits only
    return np.concatenate([np.sqrt(1 + (y**2).sum(-1, keepdims=True)), y], axis=-1)


def from_sheet(x: torch.Tensor, space: Space) -> torch.Tensor:
    """Points of the hyperboloid of curvature -1 as points of a space, by their logarithms at the origin."""
    # exp0 takes a vector to the distance of pace times its length
    return space.exp0(make_space("lorentz", -1.0).double().log0(x) / (scale(space) * space.pace))


def to_disk(points: Any, space: Space) -> Array:
    """Points of a 2-dimensional space in the unit disk."""
    return sheet_to_disk(_flat(to_sheet(points, space)))


def sheet_to_disk(x: Array) -> Array:
    """The Poincaré disk of points on the hyperboloid of curvature -1."""
    return x[..., 1:] / (1 + x[..., :1])


def _flat(x: Array) -> Array:
    if x.shape[-1] != 3:
        raise InputError(
            f"The disk shows 2 dimensions, the points have {x.shape[-1] - 1}; reduce them first "
            "(hypergraph.viz.reduce), or train with --dim 2."
        )
    return x


def disk(ax: Axes | None = None) -> Axes:
    """The disk itself: its rim, no axes.

    Example:
        >>> ax = disk()
        >>> ax.figure.savefig("disk.png")
    """
    from matplotlib.patches import Circle

    ax = ax or new_axes()
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_xlim(-1.06, 1.06)
    ax.set_ylim(-1.06, 1.06)
    ax.add_patch(Circle((0, 0), 1, facecolor=INK, alpha=0.07, linewidth=0, zorder=0))
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=INK, linewidth=1.2, zorder=4))
    return ax


def hyperboloid(ax: Axes | None = None) -> Axes:
    """The upper sheet, in three dimensions, as a faint grid.

    Example:
        >>> hyperboloid().name
        '3d'
    """
    three: Any = ax or new_axes(projection="3d", computed_zorder=False)
    r, angle = np.meshgrid(np.linspace(0, np.arccosh(TOP), 24), np.linspace(0, 2 * np.pi, 65))
    shape = np.sinh(r) * np.cos(angle), np.sinh(r) * np.sin(angle), np.cosh(r)
    three.plot_surface(*shape, color=INK, alpha=0.13, linewidth=0, antialiased=False, zorder=0)
    three.plot_wireframe(*shape, color=INK, alpha=0.22, linewidth=0.4, rcount=9, ccount=6, zorder=1)
    three.set_axis_off()
    three.set_facecolor("none")
    edge = 0.72 * np.sinh(np.arccosh(TOP))
    three.set(xlim=(-edge, edge), ylim=(-edge, edge), zlim=(1, TOP))
    three.set_box_aspect((1, 1, 0.75), zoom=1.0)
    three.view_init(elev=22, azim=-60)
    return three


def _draw(curves: Sequence[Array], ax: Axes, options: dict[str, Any]) -> Axes:
    """Curves on the hyperboloid of curvature -1, drawn where ``ax`` is."""
    if ax.name == "3d":
        for x in curves:
            on_sheet = np.where(x[:, :1] <= TOP, x, np.nan)
            ax.plot(on_sheet[:, 1], on_sheet[:, 2], on_sheet[:, 0], **options)
        return ax
    from matplotlib.collections import LineCollection

    options = {"linewidths": options.pop("linewidth", 1.0), "capstyle": "round", **options}
    ax.add_collection(LineCollection([sheet_to_disk(x) for x in curves], **options), autolim=False)
    return ax


def geodesics(x: Any, y: Any, space: Space, ax: Axes | None = None, **options: Any) -> Axes:
    """The segments between the points ``x`` and ``y``, row by row; options as of matplotlib's lines.

    Example:
        >>> ax = geodesics(torch.tensor([[0.5, 0.0]]), torch.tensor([[0.0, 0.5]]), PoincareBall(K=-1.0))
        >>> len(ax.collections)
        1
    """
    ax = ax or disk()
    a, b = (np.atleast_2d(_flat(to_sheet(points, space))) for points in (x, y))
    curves = [segment(p, q) for p, q in zip(*np.broadcast_arrays(a, b))]
    return _draw(curves, ax, {"color": INK, "linewidth": 0.6, **options})


def segment(p: Array, q: Array, samples: int = 33) -> Array:
    """Points of the geodesic from ``p`` to ``q`` on the hyperboloid of curvature -1."""
    difference = q - p
    chord = (difference[1:] ** 2).sum() - difference[0] ** 2
    d = 2 * np.arcsinh(np.sqrt(max(chord, 0.0)) / 2)
    t = np.linspace(0, 1, samples)[:, None]
    if d < 1e-9:
        return p + t * difference
    return (np.sinh((1 - t) * d) * p + np.sinh(t * d) * q) / np.sinh(d)


def horospheres(v: ArrayLike, tau: ArrayLike, space: Space, ax: Axes | None = None, **options: Any) -> Axes:
    """The horospheres ``busemann(x, v) = tau``, for every level of ``tau`` and every row of ``v``.

    In the disk of radius 1 each is the circle with centre v / (1 + k) and radius k / (1 + k), where
    k = exp(sqrt(-K) tau).

    Example:
        >>> ax = horospheres([1.0, 0.0], [-1.0, 0.0, 1.0], PoincareBall(K=-1.0))
        >>> len(ax.collections[0].get_paths())
        3
    """
    ax = ax or disk()
    directions, levels = np.broadcast_arrays(np.atleast_2d(np.asarray(v, float)), np.atleast_1d(tau)[:, None])
    curves = [horosphere(direction, level[0] * scale(space)) for direction, level in zip(directions, levels)]
    return _draw(curves, ax, {"color": ACCENT, "linewidth": 1.6, **options})


def horosphere(v: Array, level: float) -> Array:
    """A horosphere at curvature -1 on the hyperboloid, from one end near the ideal point to the other."""
    # A horosphere is flat: u is the arc length from its point on the ray to v.
    u = np.sinh(np.linspace(-9, 9, 4 * SAMPLES))[:, None]
    null = np.array([1.0, *v])
    across = np.array([0.0, -v[1], v[0]])
    low = np.array([np.cosh(level), *(-np.sinh(level) * v)])
    return low + u * across + u**2 * np.exp(-level) / 2 * null


def hyperplanes(p: Any, a: ArrayLike, space: Space, ax: Axes | None = None, **options: Any) -> Axes:
    """The geodesics through the points ``p`` at right angles to the directions ``a``, row by row.

    Example:
        >>> ax = hyperplanes(torch.zeros(1, 2), [[1.0, 0.0], [0.0, 1.0]], PoincareBall(K=-1.0))
        >>> len(ax.collections[0].get_paths())
        2
    """
    ax = ax or disk()
    through = np.atleast_2d(_flat(to_sheet(p, space)))
    directions = np.atleast_2d(np.asarray(a, dtype=float))
    count = max(len(through), len(directions))
    pairs = zip(np.broadcast_to(through, (count, 3)), np.broadcast_to(directions, (count, 2)))
    curves = [hyperplane(x, normal) for x, normal in pairs]
    return _draw(curves, ax, {"color": INK, "linewidth": 1.4, **options})


def hyperplane(x: Array, normal: Array) -> Array:
    """The whole geodesic through ``x`` whose direction in the disk is at right angles to ``normal``."""
    along = np.array([-normal[1], normal[0]])
    # The differential of the map from the disk to the hyperboloid, which keeps angles.
    z = x[1:] / (1 + x[0])
    radial = (1 + x[0]) * (z @ along)
    push = np.array([radial, *(along + radial * z)]) / np.linalg.norm(along)
    t = np.linspace(-14, 14, 4 * SAMPLES)[:, None]
    return np.cosh(t) * x + np.sinh(t) * push

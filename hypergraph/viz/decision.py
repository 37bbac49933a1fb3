"""Decision regions and class horospheres of a head, in the plane of a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hypergraph.errors import InputError
from hypergraph.viz.plane import Array, disk, from_sheet
from hypergraph.viz.style import class_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from torch import Tensor, nn

    Lift = Callable[[Tensor], Tensor]

# Beyond this distance from the origin (times sqrt(-K)) a head is taken to decide as at it.
FAR = 11.0
RINGS, RAYS = 200, 720


@dataclass(frozen=True)
class Region:
    """The part of the unit disk that a head gives to one class.

    Attributes:
        label: the class.
        outlines: points of the closed unit disk ``(m, 2)``, to be filled by the even-odd rule.
    """

    label: int
    outlines: list[Array]


@dataclass(frozen=True)
class Horosphere:
    """The horosphere of a class in the picture: y_t - <y_s, v> = exp(level), on the hyperboloid.

    Where the picture has all dimensions v has length 1. In a plane through a space of more dimensions it is
    shorter, and what is seen is the section of the horosphere: a circle that does not reach the rim.
    """

    label: int
    v: Sequence[float]
    level: float

    @property
    def circle(self) -> tuple[float, float, float] | None:
        """Centre and radius in the disk; ``None`` where the horosphere does not meet the plane."""
        x, y = self.v
        k = np.exp(self.level)
        square = k**2 - max(0.0, 1 - x * x - y * y)
        return None if square <= 0 else (x / (1 + k), y / (1 + k), float(np.sqrt(square) / (1 + k)))


def grid_logits(head: nn.Module, lift: Lift | None = None) -> tuple[Array, Array]:
    """A polar grid of the unit disk ``(RINGS, RAYS + 1, 2)``, and the head's logits there.

    The rings are evenly spaced in hyperbolic distance; the last one is the rim.
    """
    if lift is None and head.in_channels != 2:
        raise InputError(
            f"Decision regions are drawn in 2 dimensions, not {head.in_channels}; name the plane (lift)."
        )
    angle = np.linspace(0, 2 * np.pi, RAYS + 1)
    r = np.linspace(0, FAR, RINGS)[:, None, None]
    ray = np.stack([np.cos(angle), np.sin(angle)], -1)
    logits = lifted_logits(head, np.concatenate([np.cosh(r) + 0 * ray[..., :1], np.sinh(r) * ray], -1), lift)
    rho = np.tanh(r / 2)
    rho[-1] = 1.0
    return rho * ray, logits


def lifted_logits(head: nn.Module, sheet: Array, lift: Lift | None = None) -> Array:
    """The head's logits at points of the picture."""
    head = deepcopy(head).double().cpu()
    space: Any = head.space
    y = torch.from_numpy(sheet)
    with torch.no_grad():
        logits: Array = head(from_sheet(y if lift is None else lift(y), space)).numpy()
    return logits


def decision_regions(head: nn.Module, lift: Lift | None = None) -> list[Region]:
    """The region of every class, from the logits on a polar grid; a class that wins nowhere has none.

    Args:
        head: any head.
        lift: of a head of more than two dimensions, where the points of the picture are in its space:
            :meth:`Reduced.lift <hypergraph.viz.reduction.Reduced.lift>` of the plane that it is cut with.
    """
    from contourpy import FillType, contour_generator

    grid, logits = grid_logits(head, lift)
    found = []
    for k in range(logits.shape[-1]):
        rest = np.delete(logits, k, axis=-1)
        lead = logits[..., k] - rest.max(-1) if rest.shape[-1] else np.ones(logits.shape[:-1])
        contours: Any = contour_generator(grid[..., 0], grid[..., 1], lead, fill_type=FillType.OuterOffset)
        polygons, offsets, *_ = contours.filled(0.0, np.inf)
        outlines = [
            points[start:end] for points, offset in zip(polygons, offsets) for start, end in pairwise(offset)
        ]
        if outlines:
            found.append(Region(k, outlines))
    return found


def fill_regions(found: list[Region], classes: int, ax: Axes, **options: Any) -> Axes:
    """Fill regions in the colours of their classes."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    colours = class_colours(classes)
    for region in found:
        path = Path.make_compound_path(*(Path(outline, closed=True) for outline in region.outlines))
        look = {"facecolor": colours[region.label], "alpha": 0.22, "linewidth": 0.0, "zorder": 1, **options}
        ax.add_patch(PathPatch(path, **look))
    return ax


def regions(head: Any, ax: Axes | None = None, lift: Lift | None = None, **options: Any) -> Axes:
    """Fill the decision regions of a head of any kind.

    Args:
        head: the head, of two dimensions unless ``lift`` is given.
        ax: where to draw.
        lift: of a head of more dimensions, ``hypergraph.viz.reduce(points, space).lift``: the regions are
            then the section of the head with the plane of that picture.
        **options: as of matplotlib's patches.

    Example:
        >>> from hypergraph.nn import BMLR
        >>> ax = regions(BMLR(2, 3, PoincareBall(K=-1.0)), alpha=0.3)
        >>> ax.figure.savefig("regions.png")
    """
    return fill_regions(decision_regions(head, lift), len(head.weight), ax or disk(), **options)

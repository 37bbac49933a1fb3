"""Decision regions of any head in two dimensions, as polygons that reach the rim of the disk."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hypergraph.errors import InputError
from hypergraph.viz.plane import Array, disk, scale
from hypergraph.viz.style import class_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from torch import nn

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


def grid_logits(head: nn.Module, rings: int = RINGS, rays: int = RAYS) -> tuple[Array, Array]:
    """A polar grid of the unit disk ``(rings, rays + 1, 2)``, and the head's logits there.

    The rings are evenly spaced in hyperbolic distance; the last one is the rim.
    """
    if head.in_channels != 2:
        raise InputError(
            f"Decision regions are drawn in 2 dimensions, not {head.in_channels}; train with --dim 2."
        )
    head = deepcopy(head).double()
    space: Any = head.space
    s = scale(space)
    angle = np.linspace(0, 2 * np.pi, rays + 1)
    r = np.linspace(0, FAR, rings)
    ray = np.stack([np.cos(angle), np.sin(angle)], -1)
    # exp0 takes a vector to the distance of pace times its length
    length = r / s / space.pace
    vectors = torch.from_numpy(length[:, None, None] * ray)
    with torch.no_grad():
        logits = head(space.exp0(vectors.to(space.K.device)))
    rho = np.tanh(r / 2)
    rho[-1] = 1.0
    return rho[:, None, None] * ray, logits.cpu().numpy()


def decision_regions(head: nn.Module) -> list[Region]:
    """The region of every class, from the logits on a polar grid; a class that wins nowhere has none."""
    from contourpy import FillType, contour_generator

    grid, logits = grid_logits(head)
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


def regions(head: Any, ax: Axes | None = None, **options: Any) -> Axes:
    """Fill the decision regions of a 2-dimensional head, of any kind; options as of matplotlib's patches."""
    return fill_regions(decision_regions(head), len(head.weight), ax or disk(), **options)

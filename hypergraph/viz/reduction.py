"""From d dimensions to the disk: exactly for two, HoroPCA or tangent PCA above, and what is lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hypergraph.errors import InputError, unknown_name
from hypergraph.geometry.space import Lorentz
from hypergraph.viz.plane import to_sheet

if TYPE_CHECKING:
    from hypergraph.geometry.space import Space

METHODS = ("auto", "exact", "horopca", "tangent-pca")
FIT = 400  # points that HoroPCA is fitted to
STEPS = 100
PAIRS = 200_000  # pairs that the distortion is averaged over


@dataclass(frozen=True)
class Reduced:
    """Points in two dimensions, and how true they are.

    Attributes:
        sheet: the points on the 2-dimensional hyperboloid of curvature -1, ``(n, 3)``, time first.
        method: ``"exact"``, ``"horopca"`` or ``"tangent-pca"``.
        dim: the dimension that they come from.
        distortion: the mean of \\|d' - d\\| / d over pairs of points.
        variance: the mean squared distance of pairs, after over before.
        pairs: how many pairs were looked at.
        centre: the point of the space, at curvature -1, that the middle of the picture is.
        axes: the two directions ``(2, dim)`` from there that span the plane of the picture.
    """

    sheet: NDArray[np.float64]
    method: str
    dim: int
    distortion: float
    variance: float
    pairs: int
    centre: Tensor
    axes: Tensor

    def lift(self, y: Tensor) -> Tensor:
        """Where points of the picture, on the hyperboloid ``(..., 3)``, are in the space."""
        x = torch.cat([y[..., :1], y[..., 1:] @ self.axes], -1)
        return _unit().gyro_add(self.centre, x)

    def section(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """The Busemann functions of the ideal points ``v`` on the plane of the picture.

        Returns:
            ``w`` of shape ``(C, 2)``, with rows of length at most 1, and ``shift`` of shape ``(C,)``: at the
            point y of the picture the function is shift + log(y_t - <y_s, w>).
        """
        # the boost that brings the centre to the origin, of the null vectors (1, v)
        time, space = self.centre[0], self.centre[1:]
        along = v @ space
        scale = time - along
        moved = v + (along / (1 + time) - 1)[:, None] * space
        return moved @ self.axes.T / scale[:, None], scale.log()

    def __str__(self) -> str:
        if self.method == "exact":
            return "2 dimensions, drawn exactly"
        return (
            f"{self.dim} dimensions to 2 by {self.method}: average distortion {self.distortion:.3f}, "
            f"explained variance {100 * self.variance:.1f} % ({self.pairs} pairs)"
        )


def reduce(points: Any, space: Space, method: str = "auto", seed: int = 0) -> Reduced:
    """Bring points to two dimensions.

    Two dimensions stay as they are. From more, the points are moved so that their mean is at the centre, and

    - ``"horopca"`` (Chami et al. 2021) finds two ideal directions at right angles so that the
      points of the plane with the same two Busemann coordinates lie as far apart as can be. No distance
      grows. Of two such points, mirrored in the geodesic between the directions, the nearer to the centre
      is meant.
    - ``"tangent-pca"`` takes the PCA of the logarithms, in a moment;
    - ``"auto"`` makes both and keeps the one with the smaller average distortion.

    Args:
        points: points of ``space``, of shape ``(n, space.ambient(d))``.
        space: a hyperbolic space.
        method: one of :data:`METHODS`.
        seed: of the points that HoroPCA is fitted to, and of the pairs.

    Example:
        >>> space = Lorentz(K=-1.0)
        >>> found = reduce(space.exp0(torch.randn(50, 8)), space, "tangent-pca")
        >>> found.sheet.shape, found.method
        ((50, 3), 'tangent-pca')
    """
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    sheet = to_sheet(points, space)
    dim = sheet.shape[1] - 1
    if dim == 2 and method in ("auto", "exact"):
        return Reduced(sheet, "exact", 2, 0.0, 1.0, 0, _unit().origin(2), torch.eye(2, dtype=torch.float64))
    if method == "exact":
        raise InputError(f"The points have {dim} dimensions, and only 2 are drawn exactly; use horopca.")
    if dim == 1:
        flat = np.pad(sheet, ((0, 0), (0, 1)))
        return Reduced(flat, "exact", 1, 0.0, 1.0, 0, _unit().origin(1), torch.eye(2, 1, dtype=torch.float64))
    unit = _unit()
    x = torch.from_numpy(sheet)
    centre = unit.frechet_mean(x)
    x = unit.gyro_add(unit.gyro_neg(centre), x)
    made = []
    axes = _tangent_axes(x, unit)
    if method != "horopca":
        made.append(("tangent-pca", unit.exp0(unit.log0(x) @ axes.T), axes))
    if method != "tangent-pca":
        axes = _horo_axes(x, axes, unit, seed)
        made.append(("horopca", horo_project(x, axes, unit), axes))
    all_of_them = [
        Reduced(flat.numpy(), name, dim, *_loss(x, flat, unit, seed), centre, axes)
        for name, flat, axes in made
    ]
    return min(all_of_them, key=lambda reduced: reduced.distortion)


def _unit() -> Lorentz:
    return Lorentz().double()


def _tangent_axes(x: Tensor, unit: Lorentz) -> Tensor:
    """The two directions in which the logarithms vary most."""
    return torch.linalg.svd(unit.log0(x), full_matrices=False).Vh[:2]


def horo_project(x: Tensor, axes: Tensor, unit: Lorentz) -> Tensor:
    """The point of the plane of two orthonormal directions with the Busemann coordinates of ``x``.

    At curvature -1 the coordinate towards q is log(x_t - <x_s, q>). With e_i its exponential,
    y = (t, t - e_1, t - e_2) lies on the hyperboloid for t = e_1 + e_2 -+ sqrt(2 e_1 e_2 - 1), of
    which minus is nearer to the origin.
    """
    e = unit.busemann(x, axes).exp()
    # not negative for any point of the space; rounding, and a gradient at 0, need the floor
    root = (2 * e.prod(-1) - 1).clamp_min(1e-12).sqrt()
    y = (e.sum(-1) - root).unsqueeze(-1) - e
    return torch.cat([(1 + y.square().sum(-1, keepdim=True)).sqrt(), y], -1)


def _horo_axes(x: Tensor, axes: Tensor, unit: Lorentz, seed: int) -> Tensor:
    """Two orthonormal ideal directions that keep the most variance, from those of tangent PCA on."""
    generator = torch.Generator().manual_seed(seed)
    some = x[torch.randperm(len(x), generator=generator)[:FIT]]
    raw = axes.clone().requires_grad_()
    optimizer = torch.optim.Adam([raw], lr=0.05)
    best, kept = -1.0, axes
    for _ in range(STEPS):
        q = torch.linalg.qr(raw.T).Q.T
        flat = horo_project(some, q, unit)
        variance = _pairwise(flat).square().mean()
        if variance.item() > best:
            best, kept = variance.item(), q.detach()
        optimizer.zero_grad()
        (-variance).backward()
        optimizer.step()
    return kept


def _pairwise(x: Tensor) -> Tensor:
    """All distances of points on the hyperboloid of curvature -1; the floor keeps the gradient finite."""
    cosh = x[:, :1] * x[:, 0] - x[:, 1:] @ x[:, 1:].T
    return torch.acosh(cosh.clamp_min(1 + 1e-9))


def _loss(x: Tensor, flat: Tensor, unit: Lorentz, seed: int) -> tuple[float, float, int]:
    """Average distortion, explained variance and the number of pairs looked at."""
    n = len(x)
    if n * (n - 1) // 2 <= PAIRS:
        i, j = torch.triu_indices(n, n, 1)
    else:
        i, j = torch.randint(n, (2, PAIRS), generator=torch.Generator().manual_seed(seed))
    before, after = unit.dist(x[i], x[j]), unit.dist(flat[i], flat[j])
    apart = before > 0
    before, after = before[apart], after[apart]
    if len(before) == 0:
        return 0.0, 1.0, 0
    distortion = ((after - before).abs() / before).mean().item()
    return distortion, (after.square().mean() / before.square().mean()).item(), len(before)

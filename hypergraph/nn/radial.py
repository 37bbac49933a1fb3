r"""Radial algebra: what layers compute at the origin, as row scalars times the matrix that comes in.

Every map at the origin multiplies a row by a scalar that depends on its norm, and a gyro addition is a sum of
two rows with two such scalars. So the scalars are composed, which are n x 1, and the n x d matrix is touched
once. A tangent vector u of the ball is 2u on the Lorentz model, so one formula serves both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from hypergraph.geometry.lorentz import busemann_floor
from hypergraph.geometry.numerics import (
    asinhc,
    at_least,
    distance_limit,
    largest,
    number,
    radius_limit,
    shrink,
    sinhc,
)
from hypergraph.geometry.rows import sq_norm, transformed
from hypergraph.geometry.space import Space
from hypergraph.nn import fused
from hypergraph.sparse import SparseMatrix, spmm


def _s(space: Space) -> Any:
    """sqrt(-K), as a number where nothing differentiates K."""
    return (-number(space.K)) ** 0.5


def _rate(space: Space) -> Any:
    """The scaled distance from the origin of exp0 of a unit vector: s, on the ball twice that."""
    return 2 * _s(space) if space.model == "poincare" else _s(space)


def _can_fuse(rate: Any, u: Tensor) -> bool:
    if not isinstance(rate, float) or transformed():
        return False
    if forward_ad._current_level >= 0:  # gradients by hand go backward
        return False
    return u.dim() == 2 and u.numel() > 0 and u.dtype.itemsize >= 4


# Rows that are mapped together: their intermediate results stay in the cache, and are not paged in anew.
_BLOCK = 2**14


def _in_blocks(function: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """``function(rows)``, which maps every row for itself; in blocks where they are many."""
    if rows.size(0) <= 2 * _BLOCK:
        return function(rows)
    return fused.Join.apply(*(function(block) for block in fused.Split.apply(rows, _BLOCK)))


def bound(u: Tensor, space: Space) -> Tensor:
    """``log0(exp0(u))``: u itself, but where the space clips exp0."""
    if space.model == "euclidean":
        return u
    rate, limit = _rate(space), distance_limit(u.dtype)
    if not _can_fuse(rate, u):
        return shrink(rate * rate * sq_norm(u), limit) * u
    r = limit / rate
    if u.size(1) ** 0.5 * largest(u) <= r or fused.sq_norms(u.detach()).max().item() <= r * r:
        return u
    return fused.Clip.apply(u, r)


def exp0(u: Tensor, space: Space) -> Tensor:
    """``space.exp0(u)``."""
    if space.model != "poincare" or not _can_fuse(s := _s(space), u):
        return space.exp0(u)
    limit = math.atanh(radius_limit(u.dtype))
    return _in_blocks(lambda u: fused.BallExp0.run(u, s, limit, space.exp0), u)


def busemann(x: Tensor, v: Tensor, space: Space, *, scale: Tensor, offset: Tensor) -> Tensor:
    """``space.busemann(x, v, scale=scale, offset=offset)``, where a row of v stands for its direction."""

    def plain(x: Tensor, v: Tensor, scale: Tensor, offset: Tensor) -> Tensor:
        return space.busemann(x, v, scale=scale, offset=offset)

    if space.model == "euclidean" or torch.is_autocast_enabled("cpu") or not _can_fuse(s := _s(space), x):
        return plain(x, v, scale, offset)
    limit = radius_limit(x.dtype) if space.model == "poincare" else math.sinh(distance_limit(x.dtype))

    def inside(x: Tensor) -> Tensor:
        points = x.detach() if space.model == "poincare" else x.detach()[:, 1:]
        q = fused.sq_norms(points, s * s)
        if space.model == "lorentz":  # the time is not used, but a NaN in it counts
            q.add_(x.detach()[:, 0], alpha=0)
        farthest = q.max().item()
        if not farthest <= limit * limit:
            return plain(x, v, scale, offset)
        return fused.Horospheres.run(x, v, scale, offset, points, q, farthest > 0.8, s, plain)

    return _in_blocks(inside, x)


def translate(w: Tensor, b: Tensor, space: Space) -> Tensor:
    r"""``log0(gyro_add(exp0(w), exp0(b)))`` for rows w and one vector b, all tangent at the origin.

    With :math:`x = \sinh(\rho)\,w/\lVert w\rVert` and p likewise from b, in units of the curvature radius,

    .. math::
        z = p + \Bigl(\cosh\lVert b\rVert + \frac{\langle x, p\rangle}{1 + \cosh\rho}\Bigr)x, \quad
        u = \sinh^{-1}(\lVert z\rVert)\,\frac{z}{\lVert z\rVert}.
    """
    if space.model == "euclidean":
        return w + b
    rate = _rate(space)
    if not _can_fuse(rate, w):
        return _translate(w, b, rate)
    return _in_blocks(lambda w: _translate_fused(w, None, b, rate), w)


def affine(u: Tensor, weight: Tensor, b: Tensor, space: Space) -> Tensor:
    """``translate(u @ weight.T, b, space)``; of many rows the product is not kept either."""
    if (
        space.model == "euclidean"
        or torch.is_autocast_enabled("cpu")
        or not _can_fuse(rate := _rate(space), u)
    ):
        return translate((u @ weight.mT).to(weight.dtype), b, space)
    return _in_blocks(lambda u: _translate_fused(u, weight, b, rate), u)


def _translate_fused(u: Tensor, weight: Tensor | None, b: Tensor, rate: float) -> Tensor:
    def plain(u: Tensor, *rest: Tensor) -> Tensor:
        *weights, b = rest
        return _translate(u @ weights[0].mT if weights else u, b, rate)

    limit = distance_limit(u.dtype)
    w, b_given = u.detach(), b.detach()
    if weight is not None:
        w = torch.mm(w, weight.detach().T)
    q = fused.sq_norms(w, rate * rate)
    reach, q_b = q.max().item() ** 0.5, rate * rate * torch.dot(b_given, b_given).item()
    if not (q_b <= limit * limit and reach < math.inf):
        return plain(u, b) if weight is None else plain(u, weight, b)
    # by the triangle inequality nothing is clipped where the sum is within
    clipped = reach + q_b**0.5 > limit
    return fused.Translate.run(u, weight, b, w, q, q_b, rate, limit, clipped, plain)


def _translate(w: Tensor, b: Tensor, rate: Any) -> Tensor:
    limit = distance_limit(w.dtype)
    top = math.sinh(limit)
    scale_w, cosh_w = _sinh(rate * rate * sq_norm(w), limit)
    scale_b, cosh_b = _sinh(rate * rate * sq_norm(b), limit)
    scale_w, p = rate * scale_w, rate * scale_b * b
    beta = (cosh_b + scale_w * (w @ p).unsqueeze(-1) / (1 + cosh_w)) * scale_w
    z = torch.addcmul(p, beta, w)
    q = sq_norm(z)
    return asinhc(q.clamp_max(top * top)) * shrink(q, top) / rate * z


def _sinh(q: Tensor, limit: float) -> tuple[Tensor, Tensor]:
    """sinh(r)/r with the clip at ``limit``, and cosh(r), at r = sqrt(q)."""
    inside = q.clamp_max(limit * limit)
    scale = sinhc(inside)
    return scale * shrink(q, limit), (1 + inside * scale.square()).sqrt()


class Lifted:
    r"""The points exp0(u) of sparse rows u, which are never formed: row scalars times the sparse matrix.

    Seen on the Lorentz model (the isometry maps the ball there) they are ``[time, scale * u]``.

    Args:
        features: the tangent vectors at the origin.
        space: where the points are.
    """

    def __init__(self, features: SparseMatrix, space: Space) -> None:
        self.features = features
        self.space = space
        self._sq_norms = features.sq_norms().unsqueeze(-1)
        self._largest = 0.0
        if not torch.compiler.is_compiling() and self._sq_norms.numel() > 0:
            self._largest = self._sq_norms.max().item()

    def size(self, dim: int) -> int:
        """As of the tensor of points."""
        return self.features.shape[0] if dim == 0 else self.space.ambient(self.features.shape[1])

    @property
    def dtype(self) -> torch.dtype:
        """The type of the coordinates."""
        return self.features.dtype

    def log0(self, weight: Tensor) -> Tensor:
        """``log0(x) @ weight.T``."""
        product = spmm(self.features, weight.T)
        if self.space.model == "euclidean":
            return product
        rate, limit = _rate(self.space), distance_limit(product.dtype)
        if isinstance(rate, float) and rate * self._largest**0.5 <= limit:
            return product
        return shrink(rate * rate * self._sq_norms, limit) * product

    def _polar(self) -> tuple[Tensor, Tensor]:
        """On the Lorentz model, in units of its radius: the factor of u in x_s, and its squared norm."""
        rate, limit = _rate(self.space), distance_limit(self.dtype)
        q = rate * rate * self._sq_norms
        scale = sinhc(q.clamp_max(limit * limit)) * shrink(q, limit)
        return rate * scale, q * scale.square()

    def product(self, weight: Tensor) -> Tensor:
        """``x @ weight.T`` for the points x of the Lorentz model, time included."""
        scale, r2 = self._polar()
        inner = scale * spmm(self.features, weight[:, 1:].T) + (1 + r2).sqrt() * weight[:, 0]
        return inner / (-self.space.K) ** 0.5

    def busemann(self, v: Tensor) -> Tensor:
        """The Busemann functions of the unit rows of v: see :func:`~hypergraph.geometry.lorentz.busemann`."""
        scale, r2 = self._polar()
        time = (1 + r2).sqrt()
        t = r2 / (1 + time) - scale * spmm(self.features, v.T)
        return torch.log1p(at_least(t, busemann_floor(r2))) / (-self.space.K) ** 0.5

    def dense(self) -> Tensor:
        """The points."""
        return self.space.exp0(self.features.csr.to_dense())

r"""Radial algebra: what layers compute at the origin, as row scalars times the matrix that comes in.

Every map at the origin multiplies a row by a scalar that depends on its norm, and a gyro addition is a sum of
two rows with two such scalars. So the scalars are composed, which are n x 1, and the n x d matrix is touched
once. A tangent vector u of the ball is 2u on the Lorentz model, so one formula serves both.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hypergraph.geometry.numerics import distance_limit, safe_sqrt, sinhc, sq_norm
from hypergraph.geometry.space import Space
from hypergraph.sparse import SparseMatrix, spmm


def _rate(space: Space) -> Tensor:
    """The scaled distance from the origin of exp0 of a unit vector: sqrt(-K), on the ball twice that."""
    return (2 if space.model == "poincare" else 1) * (-space.K) ** 0.5


def _within(q: Tensor, limit: float) -> Tensor:
    """The factor that takes a vector of squared norm q to norm ``limit`` at most; exactly 1 inside."""
    return (q.clamp_min(limit * limit) / (limit * limit)).rsqrt()


def _asinhc(q: Tensor) -> Tensor:
    # torch.asinh has no vector code and takes ten times as long as log1p; near 0 both terms are exact.
    root = (1 + q).sqrt()
    r = safe_sqrt(q)
    small = q < 1e-3
    exact = torch.log1p(r + q / (1 + root)) / torch.where(small, 1.0, r)
    series = 1 + q * (-1 / 6 + q * (3 / 40 + q * (-15 / 336 + q * (105 / 3456))))
    return torch.where(small, series, exact)


def bound(u: Tensor, space: Space) -> Tensor:
    """``log0(exp0(u))``: u itself, but where the space clips exp0."""
    if space.model == "euclidean":
        return u
    return _within(_rate(space).square() * sq_norm(u), distance_limit(u.dtype)) * u


def translate(w: Tensor, b: Tensor, space: Space) -> Tensor:
    r"""``log0(gyro_add(exp0(w), exp0(b)))`` for rows w and one vector b, all tangent at the origin.

    With :math:`x = \sinh(\rho)\,w/\lVert w\rVert` and p likewise from b, in units of the curvature radius,

    .. math::
        z = p + \Bigl(\cosh\lVert b\rVert + \frac{\langle x, p\rangle}{1 + \cosh\rho}\Bigr)x, \quad
        u = \sinh^{-1}(\lVert z\rVert)\,\frac{z}{\lVert z\rVert}.
    """
    if space.model == "euclidean":
        return w + b
    rate, limit = _rate(space), distance_limit(w.dtype)
    scale_w, cosh_w = _sinh(rate.square() * sq_norm(w), limit)
    scale_b, cosh_b = _sinh(rate.square() * sq_norm(b), limit)
    scale_w, p = rate * scale_w, rate * scale_b * b
    beta = (cosh_b + scale_w * (w @ p).unsqueeze(-1) / (1 + cosh_w)) * scale_w
    z = torch.addcmul(p, beta, w)
    q = sq_norm(z)
    top = torch.tensor(limit, dtype=torch.float64).sinh().item()
    return _asinhc(q.clamp_max(top * top)) * _within(q, top) / rate * z


def _sinh(q: Tensor, limit: float) -> tuple[Tensor, Tensor]:
    """sinh(r)/r with the clip at ``limit``, and cosh(r), at r = sqrt(q)."""
    inside = q.clamp_max(limit * limit)
    scale = sinhc(inside)
    return scale * _within(q, limit), (1 + inside * scale.square()).sqrt()


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
        q = _rate(self.space).square() * self._sq_norms
        return _within(q, distance_limit(product.dtype)) * product

    def _polar(self) -> tuple[Tensor, Tensor]:
        """On the Lorentz model in units of the curvature radius: the factor of u in x_s, and its norm squared."""
        q = _rate(self.space).square() * self._sq_norms
        limit = distance_limit(self.dtype)
        scale = sinhc(q.clamp_max(limit * limit)) * _within(q, limit)
        return _rate(self.space) * scale, q * scale.square()

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
        return torch.log1p(torch.maximum(t, 1 / (time + safe_sqrt(r2)) - 1)) / (-self.space.K) ** 0.5

    def dense(self) -> Tensor:
        """The points."""
        return self.space.exp0(self.features.csr.to_dense())

r"""The Poincaré ball :math:`\{x : -K\lVert x\rVert^2 < 1\}` with curvature :math:`K < 0`, as pure functions.

Points and tangent vectors are in the last dimension; everything broadcasts. :math:`s = \sqrt{-K}`, and the
gap :math:`g_x = 1 - s^2\lVert x\rVert^2 = 2/\lambda_x^K`. A point beyond
:func:`~hypergraph.geometry.numerics.radius_limit` counts as the point of its ray at that limit, and no
result lies beyond it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hypergraph.geometry import gyro, lorentz
from hypergraph.geometry.gyro import Point
from hypergraph.geometry.kernels.dispatch import with_kernel
from hypergraph.geometry.kernels.radial import RadialMap
from hypergraph.geometry.numerics import bound, bound_factor, bound_length, finite_dot, operator, radius_limit
from hypergraph.geometry.planes import horospheres
from hypergraph.geometry.radial import TANHC, artanhc, asinhc, safe_sqrt, tanhc
from hypergraph.geometry.rows import Scalar, dot, sq_norm, times, unit


def _inside(x: Tensor, K: Scalar) -> Point:
    """The point, brought inside the limit, and its gap."""
    factor, q = bound(x, K, radius_limit(x.dtype))
    return Point(times(factor, x), 1 - q)


@operator
def project(x: Tensor, *, K: Scalar) -> Tensor:
    """Back into the ball: a point too far out is moved along its ray to the largest radius."""
    factor = bound(x, K, radius_limit(x.dtype))[0]
    return times(factor, x) if isinstance(factor, Tensor) else x.clone()


@operator
def contains(x: Tensor, *, K: Scalar, slack: float = 0.0) -> Tensor:
    """Whether x is finite and inside the open ball, or one that is larger by ``slack``."""
    return torch.isfinite(x).all(-1) & ((-K * sq_norm(x)).squeeze(-1) < 1 + slack)


@with_kernel(RadialMap(TANHC.of, TANHC.twice_slope))
def _exp0(u: Tensor, K: Scalar, limit: float) -> Tensor:
    factor, q = bound(u, K, limit)
    return times(times(factor, tanhc(q)), u)


@operator
def exp0(u: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{Exp}_0(u) = \tanh(s\lVert u\rVert)\, u / (s\lVert u\rVert)`."""
    return _exp0(u, K, math.atanh(radius_limit(u.dtype)))


@operator
def log0(x: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{Log}_0(x) = \tanh^{-1}(s\lVert x\rVert)\, x / (s\lVert x\rVert)`."""
    factor, q = bound(x, K, radius_limit(x.dtype))
    return times(times(factor, artanhc(q)), x)


@operator
def inner(x: Tensor, u: Tensor, v: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`g_x(u, v) = (\lambda_x^K)^2 \langle u, v\rangle`."""
    return finite_dot(u, v, (2 / _inside(x, K).gap).square()).squeeze(-1)


@operator
def dist(x: Tensor, y: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\frac2s\sinh^{-1}(s\lVert x-y\rVert/\sqrt{g_x g_y})`: equal to the form with
    :math:`\tanh^{-1}`, without its cancellation."""
    p, q = _inside(x, K), _inside(y, K)
    h = sq_norm(p.vector - q.vector) / (p.gap * q.gap)
    return (2 * safe_sqrt(h) * asinhc(-K * h)).squeeze(-1)


@operator
def dist0(x: Tensor, *, K: Scalar) -> Tensor:
    """The distance from the origin."""
    q = bound(x, K, radius_limit(x.dtype))[1]
    return (safe_sqrt(q) * artanhc(q) * (2 / (-K) ** 0.5)).squeeze(-1)


def _add(x: Point, y: Point, K: Scalar) -> Tensor:
    w, square = gyro.chord(x, y, K)
    denominator = x.gap * y.gap + square
    # the scaled norm of the sum is sqrt(square / denominator)
    inverse = bound_factor(square / denominator, radius_limit(w.dtype)) / denominator
    return x.gap * inverse * w + square * inverse * x.vector


@operator
def gyro_add(x: Tensor, y: Tensor, *, K: Scalar) -> Tensor:
    r"""Möbius addition :math:`x \oplus y`."""
    return _add(_inside(x, K), _inside(y, K), K)


def gyro_neg(x: Tensor, *, K: Scalar) -> Tensor:
    r"""The gyro inverse :math:`\ominus x = -x`."""
    return -x


@operator
def gyration(x: Tensor, y: Tensor, z: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{gyr}[x, y] z`, a rotation."""
    return gyro.rotate(_inside(x, K), _inside(y, K), bound_length(z), K)


@operator
def exp(x: Tensor, u: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{Exp}_x(u) = x \oplus \tanh(s\lambda_x\lVert u\rVert/2)\, u / (s\lVert u\rVert)`."""
    at = _inside(x, K)
    factor, q = bound(u, K / at.gap.square(), math.atanh(radius_limit(x.dtype)))
    tanh_over = tanhc(q)
    y = times(factor, tanh_over / at.gap) * u
    return _add(at, Point(y, 1 - q * tanh_over.square()), K)


@operator
def log(x: Tensor, y: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{Log}_x(y) = \frac{2}{s\lambda_x}\tanh^{-1}(s\lVert m\rVert)\frac{m}{\lVert m\rVert}`,
    :math:`m = -x \oplus y`, with :math:`\tanh^{-1}` as the asinh of the chord."""
    p, q = _inside(x, K), _inside(y, K)
    w, square = gyro.chord(-p, q, K)
    h = square / (p.gap * q.gap)
    scale = asinhc(h) * (1 + h).rsqrt() / q.gap
    return p.gap * scale * w - square * scale * p.vector


@operator
def transport(x: Tensor, y: Tensor, u: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{PT}_{x\to y}(u) = (\lambda_x/\lambda_y)\,\mathrm{gyr}[y, -x] u`."""
    p, q = _inside(x, K), _inside(y, K)
    return gyro.rotate(q, -p, times(q.gap / p.gap, bound_length(u)), K)


def busemann(x: Tensor, v: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`B^v(x) = \frac1s\log\frac{\lVert v - sx\rVert^2}{1 - s^2\lVert x\rVert^2}` for unit rows of v;
    a row of another length stands for its direction.

    Shapes: x ``(..., n)``, v ``(C, n)``, result ``(..., C)``; one matrix product.
    """
    return horospheres(x, v, None, None, K=K, pace=2.0)


@operator
def dist_hyperplane(x: Tensor, p: Tensor, a: Tensor, *, K: Scalar) -> Tensor:
    r"""The signed distance to the geodesic hyperplane through p orthogonal to a, positive where a points:
    :math:`\frac1s\sinh^{-1}\frac{2s\langle z, a\rangle}{(1 - s^2\lVert z\rVert^2)\lVert a\rVert}`,
    :math:`z = -p \oplus x`."""
    at, to = _inside(p, K), _inside(x, K)
    w, square = gyro.chord(-at, to, K)
    a = unit(a)
    q = 2 * (at.gap * dot(w, a) - square * dot(at.vector, a)) / (at.gap * to.gap)
    return (q * asinhc(-K * q * q)).squeeze(-1)


def to_poincare(x: Tensor, *, K: Scalar) -> Tensor:
    """x itself."""
    return x


@operator
def to_lorentz(x: Tensor, *, K: Scalar) -> Tensor:
    r"""The isometry to the Lorentz model: :math:`[(\lambda_x - 1)/s,\ \lambda_x x]`."""
    at = _inside(x, K)
    conformal = 2 / at.gap
    return torch.cat([(conformal - 1) / (-K) ** 0.5, conformal * at.vector], -1)


def centroid(x: Tensor, weights: Tensor | None = None, *, K: Scalar) -> Tensor:
    """The normalised Lorentzian centroid of the points on dimension -2, through the isometry."""
    mean = lorentz.centroid(to_lorentz(x, K=K), weights, K=K)
    return lorentz.to_poincare(mean.unsqueeze(-2), K=K).squeeze(-2)


def frechet_mean(
    x: Tensor, weights: Tensor | None = None, *, K: Scalar, max_iter: int = 64, tol: float | None = None
) -> Tensor:
    """The point of least weighted sum of squared distances to the points on dimension -2; see
    :func:`hypergraph.geometry.lorentz.frechet_mean`."""
    mean = lorentz.frechet_mean(to_lorentz(x, K=K), weights, K=K, max_iter=max_iter, tol=tol)
    return lorentz.to_poincare(mean.unsqueeze(-2), K=K).squeeze(-2)

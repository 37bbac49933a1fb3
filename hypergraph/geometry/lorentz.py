r"""The Lorentz model :math:`\{x : -x_t^2 + \lVert x_s\rVert^2 = 1/K,\ x_t > 0\}`, as pure functions.

The time coordinate comes first. :math:`s = \sqrt{-K}`. Tangent vectors at the origin are plain n-vectors.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from hypergraph.geometry.fused import direction_product, tail
from hypergraph.geometry.numerics import asinhc, distance_limit, dot, safe_sqrt, shrink, sinhc, sq_norm

Curvature = float | Tensor


def from_space(x_s: Tensor, *, K: Curvature) -> Tensor:
    """The point with these spatial coordinates."""
    return torch.cat([(sq_norm(x_s) - 1 / K).sqrt(), x_s], -1)


def _limit(dtype: torch.dtype) -> float:
    """The largest s |x_s|."""
    return math.sinh(distance_limit(dtype))


def _parts(x: Tensor, K: Curvature) -> tuple[Tensor, Tensor]:
    """Spatial part, bounded, and the time that belongs to it: the given time only carries rounding."""
    x_s = x[..., 1:]
    x_s = shrink(-K * sq_norm(x_s), _limit(x.dtype)) * x_s
    return x_s, (sq_norm(x_s) - 1 / K).sqrt()


def _minkowski(u: Tensor, v: Tensor) -> Tensor:
    return dot(u[..., 1:], v[..., 1:]) - u[..., :1] * v[..., :1]


def project(x: Tensor, *, K: Curvature) -> Tensor:
    """Back onto the sheet, by the spatial part."""
    x_s, x_t = _parts(x, K)
    return torch.cat([x_t, x_s], -1)


def contains(x: Tensor, *, K: Curvature) -> Tensor:
    """Whether x is on the sheet, up to rounding of its own size."""
    x_t, x2 = x[..., 0], sq_norm(x[..., 1:]).squeeze(-1)
    tolerance = 64 * torch.finfo(x.dtype).eps * (x2 - 1 / K)
    return torch.isfinite(x).all(-1) & (x_t > 0) & ((x_t.square() - (x2 - 1 / K)).abs() <= tolerance)


def exp0(u: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\mathrm{Exp}_0(u) = [\cosh(sr)/s,\ \sinh(sr)\,u/(sr)]`, :math:`r = \lVert u\rVert`."""
    limit = distance_limit(u.dtype)
    q = -K * sq_norm(u)
    return from_space(sinhc(q.clamp_max(limit * limit)) * shrink(q, limit) * u, K=K)


def log0(x: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\mathrm{Log}_0(x) = \sinh^{-1}(s\lVert x_s\rVert)\, x_s / (s\lVert x_s\rVert)`, an n-vector."""
    x_s, _ = _parts(x, K)
    return asinhc(-K * sq_norm(x_s)) * x_s


def inner(x: Tensor, u: Tensor, v: Tensor, *, K: Curvature) -> Tensor:
    """The Minkowski product of two tangent vectors."""
    return _minkowski(u, v).squeeze(-1)


def _half_chord(x: Tensor, y: Tensor, K: Curvature) -> Tensor:
    r""":math:`\sinh^2(s\,d(x, y)/2)/s^2` as one square, so that nothing cancels."""
    s = (-K) ** 0.5
    x_s, x_t = _parts(x, K)
    y_s, y_t = _parts(y, K)
    ratio = ((1 + s * y_t) / (1 + s * x_t)).sqrt()
    return sq_norm(ratio * x_s - y_s / ratio) / 4


def dist(x: Tensor, y: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\frac{2}{s}\sinh^{-1}` of half the chord, equal to the form with :math:`\cosh^{-1}`."""
    q = _half_chord(x, y, K)
    return (2 * safe_sqrt(q) * asinhc(-K * q)).squeeze(-1)


def dist0(x: Tensor, *, K: Curvature) -> Tensor:
    """The distance from the origin."""
    return safe_sqrt(sq_norm(log0(x, K=K))).squeeze(-1)


def exp(x: Tensor, u: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\cosh(\alpha)x + \sinh(\alpha)u/\alpha`, :math:`\alpha = s\lVert u\rVert_L`."""
    x_s, x_t = _parts(x, K)
    u_s = u[..., 1:]
    u_t = dot(x_s, u_s) / x_t
    limit = distance_limit(x.dtype)
    q = -K * (sq_norm(u_s) - u_t.square()).clamp_min(0)
    q = q.clamp_max(limit * limit)
    y_s = (1 + q * sinhc(q / 4).square() / 2) * x_s + sinhc(q) * shrink(q, limit) * u_s
    return project(torch.cat([x_t, y_s], -1), K=K)


def log(x: Tensor, y: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\frac{\theta}{\sinh\theta}(y - \cosh(\theta) x)`, :math:`\theta = s\,d(x, y)`."""
    x, y = project(x, K=K), project(y, K=K)
    q = -K * _half_chord(x, y, K)
    return asinhc(q) * (1 + q).rsqrt() * (y - x - 2 * q * x)


def transport(x: Tensor, y: Tensor, u: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\mathrm{PT}_{x\to y}(u) = u - \frac{K\langle y,u\rangle_L}{1+K\langle x,y\rangle_L}(x + y)`."""
    x, y = project(x, K=K), project(y, K=K)
    q = -K * _half_chord(x, y, K)
    return u - K * _minkowski(y, u) / (2 + 2 * q) * (x + y)


def gyro_add(x: Tensor, y: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`x \oplus y`: the boost that takes the origin to x, applied to y."""
    s = (-K) ** 0.5
    x_s, x_t = _parts(x, K)
    y_s, y_t = _parts(y, K)
    z_s = y_s + s * (y_t + s * dot(x_s, y_s) / (1 + s * x_t)) * x_s
    return project(torch.cat([x_t, z_s], -1), K=K)


def gyro_neg(x: Tensor, *, K: Curvature) -> Tensor:
    r"""The gyro inverse :math:`\ominus x = [x_t, -x_s]`."""
    return torch.cat([x[..., :1], -x[..., 1:]], -1)


def gyro_scale(t: float | Tensor, x: Tensor, *, K: Curvature) -> Tensor:
    r"""Scalar gyromultiplication :math:`t \odot x = \mathrm{Exp}_0(t\,\mathrm{Log}_0 x)`."""
    t = t.unsqueeze(-1) if isinstance(t, Tensor) and t.dim() else t
    return exp0(t * log0(x, K=K), K=K)


def gyration(x: Tensor, y: Tensor, z: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\mathrm{gyr}[x, y] z = \ominus(x\oplus y)\oplus(x\oplus(y\oplus z))`: a rotation."""
    from hypergraph.geometry import poincare

    rotated = poincare.gyration(to_poincare(x, K=K), to_poincare(y, K=K), z[..., 1:], K=K)
    return from_space(rotated, K=K)


def busemann(x: Tensor, v: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`B^v(x) = \frac1s\log\bigl(s(x_t - \langle x_s, v\rangle)\bigr)` for unit rows of v.

    A row of another length stands for its direction.

    Shapes: x ``(..., n + 1)``, v ``(C, n)``, result ``(..., C)``; one matrix product.
    """
    s = (-K) ** 0.5
    x_s = x[..., 1:]
    # the spatial part is bounded through row scalars, to pass over the points once
    q = -K * sq_norm(x_s)
    scale = shrink(q, _limit(x.dtype))
    r2 = scale.square() * q
    time = (1 + r2).sqrt()
    # s (x_t - <x_s, v>) >= 1 / (s (x_t + |x_s|)) exactly.
    low = 1 / (time + safe_sqrt(r2)) - 1
    return tail("log1p", direction_product(-s * scale * x_s, v), r2 / (1 + time), 1 / s, low=low)


def dist_horosphere(x: Tensor, v: Tensor, tau: float | Tensor, *, K: Curvature) -> Tensor:
    r"""The distance :math:`\lvert B^v(x) - \tau\rvert` to the horosphere :math:`\{B^v = \tau\}`."""
    return (busemann(x, v, K=K) - tau).abs()


def dist_hyperplane(x: Tensor, p: Tensor, a: Tensor, *, K: Curvature) -> Tensor:
    r"""The signed distance to the geodesic hyperplane through p orthogonal to a, positive where a points."""
    norm = safe_sqrt(_minkowski(a, a)).clamp_min(torch.finfo(a.dtype).tiny)
    q = _minkowski(a, project(x, K=K)) / norm
    return (q * asinhc(-K * q * q)).squeeze(-1)


def to_poincare(x: Tensor, *, K: Curvature) -> Tensor:
    r"""The isometry to the ball: :math:`x_s / (1 + s x_t)`."""
    x_s, x_t = _parts(x, K)
    return x_s / (1 + (-K) ** 0.5 * x_t)


def centroid(x: Tensor, weights: Tensor | None = None, *, K: Curvature) -> Tensor:
    """The normalised Lorentzian centroid of the points on dimension -2."""
    x = project(x, K=K)
    total = x.sum(-2) if weights is None else (weights.unsqueeze(-1) * x).sum(-2)
    norm = safe_sqrt(-K * -_minkowski(total, total)).clamp_min(torch.finfo(x.dtype).tiny)
    return project(total / norm, K=K)


def frechet_mean(x: Tensor, weights: Tensor | None = None, *, K: Curvature, max_iter: int = 100) -> Tensor:
    """The point of least weighted sum of squared distances to the points on dimension -2, by iteration."""
    if weights is None:
        weights = torch.ones_like(x[..., 0])
    share = (weights / weights.sum(-1, keepdim=True)).unsqueeze(-1)
    mean = centroid(x, weights, K=K).unsqueeze(-2)
    for _ in range(max_iter):
        mean = exp(mean, (share * log(mean, x, K=K)).sum(-2, keepdim=True), K=K)
    return mean.squeeze(-2)

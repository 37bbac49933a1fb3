r"""The Poincaré ball :math:`\{x : -K\lVert x\rVert^2 < 1\}` with curvature :math:`K < 0`, as pure functions.

Points and tangent vectors are in the last dimension; everything broadcasts. :math:`s = \sqrt{-K}`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hypergraph.geometry import lorentz
from hypergraph.geometry.fused import direction_product, tail
from hypergraph.geometry.numerics import artanhc, asinhc, dot, radius_limit, safe_sqrt, shrink, sq_norm, tanhc

Curvature = float | Tensor


def _gap(x: Tensor, K: Curvature) -> Tensor:
    r""":math:`1 - s^2\lVert x\rVert^2`, as a product, bounded by the model."""
    r = safe_sqrt(-K * sq_norm(x)).clamp_max(radius_limit(x.dtype))
    return (1 - r) * (1 + r)


def project(x: Tensor, *, K: Curvature) -> Tensor:
    """Back into the ball: a point too far out is moved along its ray to the largest radius."""
    return shrink(-K * sq_norm(x), radius_limit(x.dtype)) * x


def contains(x: Tensor, *, K: Curvature) -> Tensor:
    """Whether x is finite and inside the open ball."""
    return torch.isfinite(x).all(-1) & (-K * sq_norm(x).squeeze(-1) < 1)


def exp0(u: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\mathrm{Exp}_0(u) = \tanh(s\lVert u\rVert)\, u / (s\lVert u\rVert)`."""
    q = -K * sq_norm(u)
    far = torch.where(q > 1, q, 1.0)
    return torch.minimum(tanhc(q), radius_limit(u.dtype) * far.rsqrt()) * u


def log0(x: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\mathrm{Log}_0(x) = \tanh^{-1}(s\lVert x\rVert)\, x / (s\lVert x\rVert)`."""
    limit = radius_limit(x.dtype)
    q = -K * sq_norm(x)
    return artanhc(q.clamp_max(limit * limit)) * shrink(q, limit) * x


def inner(x: Tensor, u: Tensor, v: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`g_x(u, v) = (\lambda_x^K)^2 \langle u, v\rangle`."""
    return (4 * dot(u, v) / _gap(x, K).square()).squeeze(-1)


def dist(x: Tensor, y: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\frac2s\sinh^{-1}(s\lVert x-y\rVert/\sqrt{g_x g_y})`, :math:`g_x = 1-s^2\lVert x\rVert^2`:
    equal to the form with :math:`\tanh^{-1}`, without its cancellation."""
    q = sq_norm(x - y) / (_gap(x, K) * _gap(y, K))
    return (2 * safe_sqrt(q) * asinhc(-K * q)).squeeze(-1)


def dist0(x: Tensor, *, K: Curvature) -> Tensor:
    """The distance from the origin."""
    return 2 * safe_sqrt(sq_norm(log0(x, K=K))).squeeze(-1)


def gyro_add(x: Tensor, y: Tensor, *, K: Curvature) -> Tensor:
    r"""Möbius addition :math:`x \oplus y`."""
    x2, y2, xy = -K * sq_norm(x), -K * sq_norm(y), -K * dot(x, y)
    z = ((1 + 2 * xy + y2) * x + (1 - x2) * y) / _gyro_denominator(x2, y2, xy)
    return project(z, K=K)


def _gyro_denominator(x2: Tensor, y2: Tensor, xy: Tensor) -> Tensor:
    # By Cauchy-Schwarz it is at least (1 - |x||y|)^2; the bound only matters where rounding breaks it.
    return torch.maximum(1 + 2 * xy + x2 * y2, (1 - safe_sqrt(x2 * y2)).square()).clamp_min(1e-30)


def gyro_neg(x: Tensor, *, K: Curvature) -> Tensor:
    r"""The gyro inverse :math:`\ominus x = -x`."""
    return -x


def gyro_scale(t: float | Tensor, x: Tensor, *, K: Curvature) -> Tensor:
    r"""Scalar gyromultiplication :math:`t \odot x = \mathrm{Exp}_0(t\,\mathrm{Log}_0 x)`."""
    t = t.unsqueeze(-1) if isinstance(t, Tensor) and t.dim() else t
    return exp0(t * log0(x, K=K), K=K)


def gyration(x: Tensor, y: Tensor, z: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\mathrm{gyr}[x, y] z`, linear in z."""
    c = -K
    xy, xz, yz, x2, y2 = dot(x, y), dot(x, z), dot(y, z), sq_norm(x), sq_norm(y)
    a = -c * c * xz * y2 + c * yz + 2 * c * c * xy * yz
    b = -c * c * yz * x2 - c * xz
    return z + 2 * (a * x + b * y) / _gyro_denominator(c * x2, c * y2, c * xy)


def exp(x: Tensor, u: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\mathrm{Exp}_x(u) = x \oplus \tanh(s\lambda_x\lVert u\rVert/2)\, u / (s\lVert u\rVert)`."""
    return gyro_add(x, exp0(u / _gap(x, K), K=K), K=K)


def log(x: Tensor, y: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\mathrm{Log}_x(y)`, with :math:`\tanh^{-1}` as the asinh of the chord."""
    gap_x, gap_y = _gap(x, K), _gap(y, K)
    x2, y2, xy = -K * sq_norm(x), -K * sq_norm(y), -K * dot(x, y)
    denominator = _gyro_denominator(x2, y2, -xy)
    # (-x) + y over its denominator, with y - x taken elementwise so that near points keep their digits
    w = (gap_x * (y - x) - (-K * sq_norm(y - x)) * x) / denominator
    q = -K * sq_norm(y - x) / (gap_x * gap_y)
    return asinhc(q) * (denominator * gap_x / gap_y).sqrt() * w


def transport(x: Tensor, y: Tensor, u: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`\mathrm{PT}_{x\to y}(u) = (\lambda_x/\lambda_y)\,\mathrm{gyr}[y, -x] u`."""
    return _gap(y, K) / _gap(x, K) * gyration(y, -x, u, K=K)


def busemann(x: Tensor, v: Tensor, *, K: Curvature) -> Tensor:
    r""":math:`B^v(x) = \frac1s\log\frac{\lVert v - sx\rVert^2}{1 - s^2\lVert x\rVert^2}` for unit rows of v.

    A row of another length stands for its direction.

    Shapes: x ``(..., n)``, v ``(C, n)``, result ``(..., C)``; one matrix product.
    """
    s = (-K) ** 0.5
    # the point is bounded through row scalars, to pass over the points once
    q = -K * sq_norm(x)
    inside = shrink(q, radius_limit(x.dtype))
    r = inside * safe_sqrt(q)
    scale = 2 / ((1 - r) * (1 + r))
    inner = direction_product(-scale * s * inside * x, v)
    # |v - s x|^2 >= (1 - s|x|)^2 exactly, that is t >= -2r/(1+r).
    return tail("log1p", inner, scale * r * r, 1 / s, low=-2 * r / (1 + r))


def dist_horosphere(x: Tensor, v: Tensor, tau: float | Tensor, *, K: Curvature) -> Tensor:
    r"""The distance :math:`\lvert B^v(x) - \tau\rvert` to the horosphere :math:`\{B^v = \tau\}`."""
    return (busemann(x, v, K=K) - tau).abs()


def dist_hyperplane(x: Tensor, p: Tensor, a: Tensor, *, K: Curvature) -> Tensor:
    r"""The signed distance to the geodesic hyperplane through p orthogonal to a, positive where a points."""
    w = gyro_add(-p, x, K=K)
    q = 2 * dot(w, a) / (_gap(w, K) * safe_sqrt(sq_norm(a)).clamp_min(torch.finfo(a.dtype).tiny))
    return (q * asinhc(-K * q * q)).squeeze(-1)


def to_lorentz(x: Tensor, *, K: Curvature) -> Tensor:
    r"""The isometry to the Lorentz model: :math:`x_s = 2x/(1 - s^2\lVert x\rVert^2)`."""
    return lorentz.from_space(2 * project(x, K=K) / _gap(x, K), K=K)


def centroid(x: Tensor, weights: Tensor | None = None, *, K: Curvature) -> Tensor:
    """The normalised Lorentzian centroid of the points on dimension -2, through the isometry."""
    return lorentz.to_poincare(lorentz.centroid(to_lorentz(x, K=K), weights, K=K), K=K)


def frechet_mean(x: Tensor, weights: Tensor | None = None, *, K: Curvature, max_iter: int = 100) -> Tensor:
    """The point of least weighted sum of squared distances to the points on dimension -2, by iteration."""
    return lorentz.to_poincare(lorentz.frechet_mean(to_lorentz(x, K=K), weights, K=K, max_iter=max_iter), K=K)

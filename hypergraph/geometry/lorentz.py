r"""The Lorentz model :math:`\{x : -x_t^2 + \lVert x_s\rVert^2 = 1/K,\ x_t > 0\}`, as pure functions.

The time coordinate comes first. :math:`s = \sqrt{-K}`. Tangent vectors at the origin are plain n-vectors.
A point *is* its spatial part, a tangent vector likewise: the time that belongs to it, :math:`c/s` with
:math:`c = \sqrt{1 + s^2\lVert x_s\rVert^2}`, is recomputed, because far out the given one has lost the
digits that matter. No result lies beyond :func:`~hypergraph.geometry.numerics.distance_limit`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from hypergraph.geometry import gyro, numerics
from hypergraph.geometry.gyro import Point
from hypergraph.geometry.kernels.dispatch import with_kernel
from hypergraph.geometry.kernels.sheet import SheetDist, SheetDist0
from hypergraph.geometry.numerics import bound, bound_length, distance_limit, finite_dot, operator
from hypergraph.geometry.planes import horospheres
from hypergraph.geometry.radial import asinhc, safe_sqrt, sinhc
from hypergraph.geometry.rows import Scalar, dot, sq_norm, times, unit


def _sinh_limit(x: Tensor) -> float:
    return math.sinh(distance_limit(x.dtype))


class _Point(NamedTuple):
    r"""Spatial coordinates, and :math:`c = \cosh(s\,d(x, 0))`."""

    vector: Tensor
    c: Tensor

    @property
    def ball(self) -> Point:
        """The point in ball coordinates."""
        half_gap = (1 + self.c).reciprocal()
        return Point(half_gap * self.vector, 2 * half_gap)


def _inside(x: Tensor, K: Scalar) -> _Point:
    """The point, brought inside the limit."""
    x_s = x[..., 1:]
    factor, q = bound(x_s, K, _sinh_limit(x), x)
    return _Point(times(factor, x_s), (1 + q).sqrt())


def _on_sheet(x_s: Tensor, K: Scalar, whole: Tensor | None = None) -> Tensor:
    """The point with these spatial coordinates, brought inside the limit, and its time."""
    factor, square = bound(x_s, -1.0, _sinh_limit(x_s) / (-K) ** 0.5, whole)
    return torch.cat([(square - 1 / K).sqrt(), times(factor, x_s)], -1)


def _at(u: Tensor, K: Scalar) -> _Point:
    """The point exp0(u)."""
    factor, q = bound(u, K, distance_limit(u.dtype))
    sinh_over = sinhc(q)
    return _Point(times(factor, sinh_over) * u, (1 + q * sinh_over.square()).sqrt())


def _tangent(x: _Point, u_s: Tensor, K: Scalar) -> Tensor:
    """The tangent vector at x with these spatial coordinates."""
    return torch.cat([(-K) ** 0.5 * dot(x.vector, u_s) / x.c, u_s], -1)


def _to_origin(x: _Point, u: Tensor, K: Scalar) -> Tensor:
    """The tangent vector at x, transported to the origin: its Euclidean norm is the length of u, with no
    cancellation."""
    u_s = bound_length(u[..., 1:], u)
    return u_s + K * dot(x.vector, u_s) / (x.c * (1 + x.c)) * x.vector


def _half_chord(x: _Point, y: _Point, K: Scalar) -> Tensor:
    r""":math:`\sinh^2(s\,d(x, y)/2)` as one square, so that nothing cancels: see :func:`dist`."""
    ratio = (1 + x.c) / (1 + y.c)
    return -K / 4 * sq_norm(x.vector - ratio * y.vector) / ratio


@operator
def project(x: Tensor, *, K: Scalar) -> Tensor:
    """Back onto the sheet, by the spatial part."""
    return _on_sheet(x[..., 1:], K, x)


def contains(x: Tensor, *, K: Scalar, slack: float = 0.0) -> Tensor:
    """Whether x is on the sheet, up to rounding of its own size, or up to that share of it."""
    eps, x = torch.finfo(x.dtype).eps, numerics.raised(x)
    x_t, square = x[..., :1], sq_norm(x[..., 1:]) - 1 / K
    close = (x_t.square() - square).abs() <= max(64 * eps, slack) * square
    return torch.isfinite(x).all(-1) & ((x_t > 0) & close).squeeze(-1)


@operator
def exp0(u: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{Exp}_0(u) = [\cosh(sr)/s,\ \sinh(sr)\,u/(sr)]`, :math:`r = \lVert u\rVert`."""
    x = _at(u, K)
    return torch.cat([x.c / (-K) ** 0.5, x.vector], -1)


@operator
def log0(x: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{Log}_0(x) = \sinh^{-1}(s\lVert x_s\rVert)\, x_s / (s\lVert x_s\rVert)`, an n-vector."""
    x_s = x[..., 1:]
    factor, q = bound(x_s, K, _sinh_limit(x), x)
    return times(times(factor, asinhc(q)), x_s)


@operator
def inner(x: Tensor, u: Tensor, v: Tensor, *, K: Scalar) -> Tensor:
    r"""The Minkowski product :math:`\langle u, v\rangle_L = \langle u_s, v_s\rangle - u_t v_t`."""
    signs = torch.cat([u.new_full((1,), -1.0), u.new_ones(u.size(-1) - 1)])
    return finite_dot(u * signs, v).squeeze(-1)


@with_kernel(SheetDist())
def _dist(x: Tensor, y: Tensor, K: Scalar, limit: float) -> Tensor:
    s = (-K) ** 0.5
    top = 1 + math.cosh(limit)
    ratio = (1 + s * x[..., :1]).clamp(2, top) / (1 + s * y[..., :1]).clamp(2, top)
    # w is exactly 0 at coinciding points, and p is cosh(s d) - 1
    w = bound_length(x[..., 1:]) - ratio * bound_length(y[..., 1:])
    p = -K * sq_norm(w) / (2 * ratio)
    q = torch.where(p > math.cosh(2 * limit), math.cosh(2 * limit), p) / 2
    return (2 / s * safe_sqrt(q) * asinhc(q)).squeeze(-1)


@operator
def dist(x: Tensor, y: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\frac{2}{s}\sinh^{-1}` of half the chord, equal to the form with :math:`\cosh^{-1}`.

    The chord is the length of one vector, so nothing cancels: with
    :math:`w = x_s - \frac{1 + s x_t}{1 + s y_t} y_s`,
    :math:`\cosh(s\,d) - 1 = \frac{s^2}{2} \frac{1 + s y_t}{1 + s x_t} \lVert w\rVert^2`. It uses the time
    coordinates, of which it needs the leading digits only. Its derivatives are those along the sheet.
    """
    return _dist(x, y, K, distance_limit(x.dtype))


@with_kernel(SheetDist0())
def _dist0(x: Tensor, K: Scalar, limit: float) -> Tensor:
    q = bound(x[..., 1:], K, limit, x)[1]
    return (safe_sqrt(q) * asinhc(q) / (-K) ** 0.5).squeeze(-1)


@operator
def dist0(x: Tensor, *, K: Scalar) -> Tensor:
    r"""The distance from the origin, :math:`\sinh^{-1}(s\lVert x_s\rVert)/s`."""
    return _dist0(x, K, _sinh_limit(x))


def _sum(x: _Point, y: _Point, K: Scalar) -> Tensor:
    r"""The spatial part of the gyro sum, wherever it is: with :math:`v = \frac{1 + c_y}{1 + c_x} x_s + y_s`,
    which loses no digits near opposite points, :math:`v + \frac{s^2\lVert v\rVert^2}{2(1 + c_y)} x_s`."""
    lift = 1 + y.c
    v = y.vector + lift / (1 + x.c) * x.vector
    return v - K / 2 * sq_norm(v) / lift * x.vector


def _add(x: _Point, y: _Point, K: Scalar) -> Tensor:
    return _on_sheet(_sum(x, y, K), K)


@operator
def gyro_add(x: Tensor, y: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`x \oplus y`: the boost that takes the origin to x, applied to y."""
    return _add(_inside(x, K), _inside(y, K), K)


def gyro_neg(x: Tensor, *, K: Scalar) -> Tensor:
    r"""The gyro inverse :math:`\ominus x = [x_t, -x_s]`."""
    return torch.cat([x[..., :1], -x[..., 1:]], -1)


@operator
def gyration(x: Tensor, y: Tensor, z: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{gyr}[x, y] z`: a rotation of the spatial part of z."""
    rotated = gyro.rotate(_inside(x, K).ball, _inside(y, K).ball, _inside(z, K).vector, K)
    return _on_sheet(rotated, K)


@operator
def exp(x: Tensor, u: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{Exp}_x(u) = \cosh(\alpha)x + \sinh(\alpha)u/\alpha`,
    :math:`\alpha = s\lVert u\rVert_L`, as :math:`x \oplus \mathrm{Exp}_0(\mathrm{PT}_{x\to 0}(u))`."""
    at = _inside(x, K)
    return _add(at, _at(_to_origin(at, u, K), K), K)


@operator
def log(x: Tensor, y: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{Log}_x(y) = \frac{\theta}{\sinh\theta}(y - \cosh(\theta) x)`,
    :math:`\theta = s\,d(x, y)`."""
    at, to = _inside(x, K), _inside(y, K)
    q = _half_chord(at, to, K)
    scale = asinhc(q) * (1 + q).rsqrt()
    return _tangent(at, scale * (to.vector - at.vector) - 2 * q * scale * at.vector, K)


@operator
def transport(x: Tensor, y: Tensor, u: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`\mathrm{PT}_{x\to y}(u) = u - \frac{K\langle y,u\rangle_L}{1+K\langle x,y\rangle_L}(x + y)`."""
    at, to = _inside(x, K), _inside(y, K)
    turned = gyro.rotate(to.ball, -at.ball, _to_origin(at, u, K), K)
    return _tangent(to, turned - K * dot(to.vector, turned) / (1 + to.c) * to.vector, K)


def busemann(x: Tensor, v: Tensor, *, K: Scalar) -> Tensor:
    r""":math:`B^v(x) = \frac1s\log\bigl(s(x_t - \langle x_s, v\rangle)\bigr)` for unit rows of v; a row of
    another length stands for its direction.

    Shapes: x ``(..., n + 1)``, v ``(C, n)``, result ``(..., C)``; one matrix product.
    """
    return horospheres(x, v, None, None, K=K, pace=1.0)


@operator
def dist_hyperplane(x: Tensor, p: Tensor, a: Tensor, *, K: Scalar) -> Tensor:
    r"""The signed distance to the geodesic hyperplane through p orthogonal to a, positive where a points:
    :math:`\frac1s\sinh^{-1}(s\langle x, a\rangle_L / \lVert a\rVert_L)`."""
    at = _inside(p, K)
    (x_s, c_x), (p_s, c_p) = _inside(x, K), at
    # with p taken to the origin: x becomes -p + x, and a an n-vector
    a = torch.cat([a[..., :1], unit(a[..., 1:])], -1)
    a_s, a = a[..., 1:], _to_origin(at, a, K)
    length = safe_sqrt(sq_norm(a))
    # x - p in ball coordinates, taken before they lose the difference of two far points of one ray
    d = x_s - p_s
    rise = -K * dot(d, x_s + p_s) / (c_x + c_p)
    # (torch.where, since torch.minimum would average two gradients at equal radii)
    x_near = c_x < c_p
    near, c_near, c_far = (torch.where(x_near, *two) for two in ((x_s, p_s), (c_x, c_p), (c_p, c_x)))
    w = (d - rise / (1 + c_near) * near) / (1 + c_far)
    # <p, a> / c_p: of a radial normal little is left, and both products must see the same rounding
    along = torch.where(c_p * length < 1, dot(p_s, a), dot(p_s, a_s) / c_p)
    q = (1 + c_x) * (dot(w, a) + (K / 2) * sq_norm(w) * along) / torch.where(length > 0, length, 1.0)
    return (q * asinhc(-K * q * q)).squeeze(-1)


def to_lorentz(x: Tensor, *, K: Scalar) -> Tensor:
    """x itself."""
    return x


@operator
def to_poincare(x: Tensor, *, K: Scalar) -> Tensor:
    r"""The isometry to the ball: :math:`x_s / (1 + s x_t)`."""
    ball = _inside(x, K).ball.vector
    return times(bound(ball, K, numerics.radius_limit(x.dtype))[0], ball)


@operator
def centroid(x: Tensor, weights: Tensor | None = None, *, K: Scalar) -> Tensor:
    r"""The normalised Lorentzian centroid :math:`T / \sqrt{K\langle T, T\rangle_L}`,
    :math:`T = \sum_i w_i x_i`, of the points on dimension -2; the weights, shape ``(..., N)``, are positive
    and all 1 by default."""
    share = _shares(x[..., 1:], weights)
    at, moved = _from_within(x, share, K)
    return _add(at, _mean(moved, share, K), K).squeeze(-2)


def _from_within(x: Tensor, share: Tensor, K: Scalar) -> tuple[_Point, _Point]:
    """A point amid x, and x as seen from there: moved by the isometry that takes it to the origin.

    Far out the sum of near points knows their mean to exp(2 s d) roundings only; from within it is near 0,
    and nothing cancels. Which point this is makes no difference to the mean: it has no gradient.
    """
    inside = _inside(x, K)
    with torch.no_grad():
        at_s = _mean(inside, share, K).vector
    at = _with_time(at_s, K)
    return at, _with_time(_sum(_Point(-at_s, at.c), inside, K), K)


def _with_time(x_s: Tensor, K: Scalar) -> _Point:
    return _Point(x_s, (1 - K * sq_norm(x_s)).sqrt())


def _mean(x: _Point, share: Tensor, K: Scalar) -> _Point:
    """The centroid; the dimension of the points is kept."""
    x_s, c = x
    mean, c_mean = _with_time((share * x_s).sum(-2, keepdim=True), K)
    # mean of c, less c of the mean: at least 0 by convexity, and taken without cancellation
    lag = (share * (-K * dot(x_s - mean, x_s + mean) / (c + c_mean))).sum(-2, keepdim=True).clamp_min(0)
    return _with_time((1 + lag * (2 * c_mean + lag)).rsqrt() * mean, K)


def from_sum(total: Tensor, *, K: Scalar) -> Tensor:
    """The centroid, given a weighted sum of points, as a sparse product makes it: far out it has fewer digits
    than :func:`centroid`. A sum of no points stays 0, and so does its logarithm."""
    square = -K * (total[..., :1].square() - sq_norm(total[..., 1:]))
    none = square <= 0
    scale = torch.where(none, 1.0, torch.where(none, 1.0, square).rsqrt())
    return total * scale


def _shares(x: Tensor, weights: Tensor | None) -> Tensor:
    if weights is None:
        return torch.full_like(x[..., :1], 1 / x.shape[-2])
    total = weights.sum(-1, keepdim=True)
    return (weights / torch.where(total == 0, 1.0, total)).unsqueeze(-1)


@operator
def frechet_mean(
    x: Tensor, weights: Tensor | None = None, *, K: Scalar, max_iter: int = 64, tol: float | None = None
) -> Tensor:
    r"""The point of least weighted sum of squared distances to the points on dimension -2.

    :math:`d^2` is concave in :math:`\cosh d`, so its tangent bounds it from above, and the minimum of the
    bound is the centroid with weights :math:`w_i\, d_i/\sinh d_i`: every step descends, whatever the
    spread, and none needs a step size.

    Args:
        x: points, shape ``(..., N, n + 1)``.
        weights: positive, shape ``(..., N)``; all 1 by default.
        K: the curvature.
        max_iter: the number of steps.
        tol: stop once no mean moves by more than this distance (a look at the data, which ``torch.compile``
            and ``vmap`` cannot take: without it all the steps are made).
    """
    share = _shares(x[..., 1:], weights)
    at, moved = _from_within(x, share, K)
    mean = _mean(moved, share, K)
    for _ in range(max_iter):
        q = _half_chord(moved, mean, K)
        weighted = share * asinhc(q) * (1 + q).rsqrt()
        last, mean = mean, _mean(moved, weighted / weighted.sum(-2, keepdim=True), K)
        if tol is not None and bool((_half_chord(last, mean, K) <= -K * tol * tol / 4).all()):
            break
    return _add(at, mean, K).squeeze(-2)

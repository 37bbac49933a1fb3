r"""Signed distances from points to horospheres and hyperplanes, one for each row of a matrix of directions.

On the hyperboloid a geodesic hyperplane is a linear equation and a Busemann function the logarithm of a
linear one. So the points of either model, or their logarithms, are first :func:`seen` on the Lorentz model
of curvature -1; what follows is one matrix product and a few passes over points x directions, the same for
all.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import with_kernel
from hypergraph.geometry.kernels.planes import Horospheres, Products, Tail
from hypergraph.geometry.kernels.radial import RadialMap, conformal
from hypergraph.geometry.numerics import at_least, bound, bound_of, distance_limit, operator, radius_limit
from hypergraph.geometry.radial import SINHC, asinhc, safe_sqrt, sinhc
from hypergraph.geometry.rows import Scalar, dot, nonzero, sq_norm, times, unit
from hypergraph.sparse import SparseRows, product

Rows = Tensor | SparseRows
Given = Tensor | None
_SEEN: tuple[Any, Any, float] = (None, -1.0, 0.0)  # the view, of :func:`_view`, of points already seen


def seen(x: Rows, K: Scalar, pace: float, tangent: bool) -> Rows:
    """The spatial coordinates of points, inside the limit, seen on the Lorentz model of curvature -1.

    Args:
        x: points of the ball (``pace`` 2) or of the Lorentz model (``pace`` 1); with ``tangent`` their
            logarithms, which alone may be sparse, and then stay so.
        K: the curvature.
        pace: how far exp0 takes a vector, in units of its length: it tells the models apart.
        tangent: whether x holds logarithms.
    """
    if isinstance(x, SparseRows):
        factor, q = bound(x, pace * pace * K, distance_limit(x.dtype))
        return x.scaled(pace * (-K) ** 0.5 * times(factor, sinhc(q)))
    view, *given = _view(x.dtype, K, pace, tangent)
    if view is not None:
        return view(x, *given)
    factor, _ = bound(x[..., 1:], K, math.sinh(distance_limit(x.dtype)), x)
    return times((-K) ** 0.5 * factor, x[..., 1:])


def _view(dtype: torch.dtype, K: Scalar, pace: float, tangent: bool) -> tuple[Any, Any, float]:
    """The map behind :func:`seen`, where it is more than a cut, and its curvature and limit."""
    if tangent:
        return _of_logarithms, pace * pace * K, distance_limit(dtype)
    return (_of_ball if pace == 2 else None), K, radius_limit(dtype)


@with_kernel(RadialMap(SINHC.of, SINHC.twice_slope, to_unit=True))
def _of_logarithms(u: Tensor, K: Scalar, limit: float) -> Tensor:
    factor, q = bound(u, K, limit)
    return times((-K) ** 0.5 * factor, sinhc(q)) * u


@with_kernel(RadialMap(conformal, lambda q, f: f * f, to_unit=True))
def _of_ball(x: Tensor, K: Scalar, limit: float) -> Tensor:
    factor, q = bound(x, K, limit)
    return times((-K) ** 0.5 * factor, 2 / (1 - q)) * x


def time_of(y: Rows) -> Tensor:
    """The time of points with these spatial coordinates."""
    return (1 + sq_norm(y)).sqrt()


@with_kernel(Horospheres())
def _horospheres(
    x: Any, weight: Tensor, scale: Tensor, offset: Tensor, view: Any, K: Scalar, limit: float
) -> Tensor:
    if view is not None:
        return _horospheres(view(x, K, limit), weight, scale, offset, *_SEEN)
    square = sq_norm(x)
    rise = square / (1 + (1 + square).sqrt())  # the time less 1
    t = rise - product(x, unit(weight))
    # e^{-d} <= 1 + t, that is t >= -r / (1 + r) with r the length of the spatial part plus the rise
    r = safe_sqrt(square) + rise
    return scale * torch.log1p(at_least(t, -r / (1 + r))) + offset


@operator
def horospheres(
    x: Rows,
    weight: Tensor,
    scale: Given = None,
    offset: Given = None,
    *,
    K: Scalar,
    pace: float,
    tangent: bool = False,
) -> Tensor:
    r""":math:`c_k B^{v_k}(x) + o_k`, with :math:`v_k` the direction of a row of ``weight``.

    :math:`B^v(x) = \frac1s\log(x_t - \langle x_s, v\rangle)` at :func:`seen`. Shapes: x ``(..., ambient)``,
    weight ``(C, n)``, scale and offset ``(C,)``, result ``(..., C)``; the others as for :func:`seen`.
    """
    scale = weight.new_ones(weight.size(0)) if scale is None else scale
    offset = weight.new_zeros(()) if offset is None else offset
    scale = times((-K) ** -0.5, scale)
    given, view = _flat(x), _view(x.dtype, K, pace, tangent)
    if view[0] is None or isinstance(x, SparseRows) or isinstance(K, Tensor):
        given, view = seen(given, K, pace, tangent), _SEEN
    return _shaped(_horospheres(given, weight, scale, offset, *view), x)


@with_kernel(Products())
def products(y: Any, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The inner products of the points with the rows of the weight, and the squared norms of these."""
    return product(y, weight), sq_norm(weight).squeeze(-1)


@with_kernel(Tail())
def tail(
    y: Tensor, row: Tensor, column: Tensor, weight: Tensor, scale: Tensor | None, name: str, low: float
) -> Tensor:
    r""":math:`c_k f(y_{ik} a_k + r_i w_k)`, with an argument of at least ``low``; f is :math:`\sinh^{-1}` or,
    as ``"hcothh"``, :math:`h\coth h` of :math:`\cosh(2h)`.

    Shapes: y ``(rows, C)``, row ``(rows, 1)``, the others ``(C,)``.
    """
    t = y * column + row * weight
    t = t if low == -math.inf else at_least(t, low)
    if name == "hcothh":
        q = (t - 1) / 2
        value = asinhc(q) * (1 + q).sqrt()
    else:
        value = torch.asinh(t)
    return value if scale is None else value * scale


def _flat(x: Any) -> Any:
    return x if len(x.shape) == 2 else x.reshape(-1, x.size(-1))


def _shaped(logits: Tensor, x: Rows) -> Tensor:
    return logits if len(x.shape) == 2 else logits.reshape(*x.shape[:-1], logits.size(-1))


@operator
def hyperplanes(
    x: Rows,
    weight: Tensor,
    offset: Tensor,
    scale: Given = None,
    *,
    K: Scalar,
    pace: float,
    tangent: bool = False,
) -> Tensor:
    r""":math:`c_k` times the signed distance to the hyperplane with normal :math:`z_k` at distance
    :math:`b_k`.

    With :math:`v_k = z_k / \lVert z_k\rVert`,
    :math:`\frac{c_k}{s}\sinh^{-1}(\cosh(s b_k)\langle x_s, v_k\rangle - \sinh(s b_k) x_t)` at :func:`seen`;
    without a scale :math:`c_k = \lVert z_k\rVert`. Shapes: x ``(..., ambient)``, weight ``(C, n)``, offset
    and scale ``(C,)``, result ``(..., C)``.
    """
    s, limit = (-K) ** 0.5, distance_limit(weight.dtype)
    b = s * offset
    b = torch.where(b.abs() > limit, torch.sign(b) * limit, b)
    y = seen(_flat(x), K, pace, tangent)
    inner, squares = products(y, weight)
    norms = safe_sqrt(squares)
    scale, column = (norms if scale is None else scale) / s, b.cosh() / nonzero(norms)
    return _shaped(tail(inner, time_of(y), column, -b.sinh(), scale, "asinh", -math.inf), x)


class _ClassPoints(NamedTuple):
    """The points exp0(u_k) seen on the Lorentz model of curvature -1, as numbers a class: the factor of u_k
    in the spatial part p, the squared norm of p, the time, the inner product h of p with the unit normal, and
    the length of the normal."""

    factor: Tensor
    square: Tensor
    time: Tensor
    along: Tensor
    length: Tensor


def _place(u2: Tensor, point: Tensor, normal: Tensor, K: Scalar, pace: float) -> _ClassPoints:
    uz, z2 = dot(point, normal).squeeze(-1), sq_norm(normal).squeeze(-1)
    own, q = bound_of(u2, pace * pace * K, distance_limit(point.dtype))
    factor = times(pace * (-K) ** 0.5 * own, sinhc(q))
    square = factor.square() * u2
    length = torch.where(z2 > 0, z2, 1.0).sqrt()
    return _ClassPoints(factor, square, (1 + square).sqrt(), factor * uz / length, length)


@operator
def hyperplanes_through(x: Tensor, point: Tensor, normal: Tensor, *, K: Scalar, pace: float) -> Tensor:
    r""":math:`\lambda_{p_k}\lVert a_k\rVert` times the signed distance to the hyperplane through
    :math:`p_k = \mathrm{Exp}_0(u_k)` with normal :math:`a_k`.

    With :math:`\hat a = a_k/\lVert a_k\rVert` and :math:`h = \langle p_s, \hat a\rangle`, it is
    :math:`\sinh^{-1}` of :math:`\langle x_s, \hat a + h p_s/(1 + p_t)\rangle - h x_t` at :func:`seen`: one
    product, with a vector of norm :math:`\sqrt{1 + h^2}`.
    """
    y = seen(_flat(x), K, pace, False)
    at = _place(sq_norm(point).squeeze(-1), point, normal, K, pace)
    lean = at.length * at.along * at.factor / (1 + at.time)
    towards = normal + lean.unsqueeze(-1) * point
    inner, squares = products(y, towards)
    column = (1 + at.along.square()).sqrt() / nonzero(safe_sqrt(squares))
    scale = (1 + at.time) * at.length / (-K) ** 0.5
    return _shaped(tail(inner, time_of(y), column, -at.along, scale, "asinh", -math.inf), x)


@operator
def pseudo_busemann(x: Tensor, point: Tensor, direction: Tensor, *, K: Scalar, pace: float) -> Tensor:
    r"""In ball coordinates :math:`-d(x, p_k)\,B^{v_k}(m)/\lVert m\rVert` with :math:`m = -p_k\oplus x` and
    :math:`p_k = \mathrm{Exp}_0(u_k)`.

    Moving x by an isometry moves the ideal point the other way,
    :math:`B^{v}(-p\oplus x) = B^{v'}(x) + B^{v}(-p)` with :math:`v' = \sqrt{-K}p\oplus v` on the sphere, and
    :math:`d/\lVert m\rVert = 2h\coth h` with :math:`h = \sqrt{-K}d/2`: two products.
    """
    y = seen(_flat(x), K, pace, False)
    inner, squares = products(y, point)
    s, at = (-K) ** 0.5, _place(squares, point, direction, K, pace)
    # p + (1, v), a ray of light, has the time T + <p, v> and the spatial part v + (1 + <p, v> / (1 + T)) p
    rise = at_least(at.square / (1 + at.time) + at.along, 1 / (at.time + safe_sqrt(at.square)) - 1)
    lean = at.length * at.factor * (1 + at.along / (1 + at.time))
    towards = direction + lean.unsqueeze(-1) * point
    scale = torch.full_like(rise, -2.0) / s
    busemann = _horospheres(y, towards, scale, scale * torch.log1p(rise), *_SEEN)
    # cosh(s d) is a Minkowski product
    h = tail(inner, time_of(y), -at.factor, at.time, None, "hcothh", 1.0)
    return _shaped(busemann * h, x)


@operator
def linear_forms(x: Rows, weight: Tensor, *, K: Scalar, pace: float, tangent: bool = False) -> Tensor:
    """The inner products of the coordinates on the Lorentz model, time first, with the rows of ``weight``."""
    if isinstance(x, Tensor) and pace == 1 and not tangent:
        return x @ weight.mT
    y = seen(x, K, pace, tangent)
    return (product(y, weight[:, 1:]) + time_of(y) * weight[:, 0]) / (-K) ** 0.5

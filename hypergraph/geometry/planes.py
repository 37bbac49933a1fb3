r"""Signed distances from points to horospheres and hyperplanes, one for each row of a matrix of directions.

On the hyperboloid a geodesic hyperplane is a linear equation and a Busemann function the logarithm of a
linear one. So the points of either model, or their logarithms, are first seen as :class:`Rows` of the Lorentz
model of curvature -1; what follows is one matrix product and a few passes over points x directions, the same
for all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from hypergraph.geometry.kernels.dispatch import with_kernel
from hypergraph.geometry.kernels.planes import Horospheres, Seen, Tail
from hypergraph.geometry.kernels.small import nonzero
from hypergraph.geometry.numerics import (
    Scalar,
    at_least,
    bound,
    bound_factor,
    bound_of,
    bound_square,
    distance_limit,
    operator,
    radius_limit,
    unit,
)
from hypergraph.geometry.radial import asinhc, safe_sqrt, sinhc
from hypergraph.geometry.rows import combine, dot, sq_norm, times
from hypergraph.sparse import SparseMatrix, SparseRows, spmm

Points = Tensor | SparseRows
Given = Tensor | None


class Rows(NamedTuple):
    """Points ``[1 + rise, factor * vector]`` of the Lorentz model of curvature -1."""

    vectors: Tensor | SparseMatrix
    factor: Scalar
    rise: Tensor

    def products(self, z: Tensor) -> Tensor:
        """The inner products of the spatial coordinates with the rows of z."""
        if isinstance(self.vectors, SparseMatrix):
            return self.factor * spmm(self.vectors, z.T)
        return times(self.factor, self.vectors) @ z.mT

    @property
    def time(self) -> Tensor:
        """The time coordinates."""
        return 1 + self.rise


def rows(x: Points, K: Scalar, pace: float, tangent: bool) -> Rows:
    """Points as :class:`Rows`, inside the limit.

    Args:
        x: points of the ball (``pace`` 2) or of the Lorentz model (``pace`` 1); with ``tangent`` their
            logarithms, which alone may be sparse.
        K: the curvature.
        pace: how far exp0 takes a vector, in units of its length: it tells the models apart.
        tangent: whether x holds logarithms.
    """
    if isinstance(x, SparseRows):
        factor, rise = _of_logarithms(x.sq_norm(), K, pace)
        return Rows(x.matrix, x.factor * factor, rise)
    if tangent or pace == 2:
        return Rows(x, *_seen(x, K, pace, tangent))
    x_s = x[..., 1:]
    own, q = bound(x_s, K, math.sinh(distance_limit(x.dtype)), x[..., :1])
    return Rows(x_s, (-K) ** 0.5 * own, q / (1 + (1 + q).sqrt()))


def _of_logarithms(square: Tensor, K: Scalar, pace: float) -> tuple[Tensor, Tensor]:
    factor, q = bound_of(square, pace * pace * K, distance_limit(square.dtype))
    scale = sinhc(q)
    square = q * scale.square()
    return pace * (-K) ** 0.5 * times(factor, scale), square / (1 + (1 + square).sqrt())


@with_kernel(Seen())
def _seen(x: Tensor, K: Scalar, pace: float, tangent: bool) -> tuple[Tensor, Tensor]:
    """The factor and the rise of points of the ball, or of logarithms."""
    if tangent:
        return _of_logarithms(sq_norm(x), K, pace)
    factor, q = bound(x, K, radius_limit(x.dtype))
    conformal = torch.rsub(q, 0.5, alpha=0.5).reciprocal()  # 2 / (1 - q)
    return times(factor, times((-K) ** 0.5, conformal)), conformal * q


@with_kernel(Horospheres())
def _horospheres(
    x: Tensor | SparseMatrix, factor: Scalar, rise: Tensor, weight: Tensor, scale: Tensor, offset: Tensor
) -> Tensor:
    t = rise - Rows(x, factor, rise).products(unit(weight))
    # e^{-d} <= 1 + t, that is t >= -r / (1 + r) with r the length of the spatial part plus the rise
    r = safe_sqrt(rise * (2 + rise)) + rise
    return scale * torch.log1p(at_least(t, -r / (1 + r))) + offset


@operator
def horospheres(
    x: Points,
    weight: Tensor,
    scale: Given = None,
    offset: Given = None,
    *,
    K: Scalar,
    pace: float,
    tangent: bool = False,
) -> Tensor:
    r""":math:`c_k B^{v_k}(x) + o_k`, with :math:`v_k` the direction of a row of ``weight``.

    :math:`B^v(x) = \frac1s\log(x_t - \langle x_s, v\rangle)` at :class:`Rows`. Shapes: x ``(..., ambient)``,
    weight ``(C, n)``, scale and offset ``(C,)``, result ``(..., C)``; the others as for :func:`rows`.
    """
    scale = weight.new_ones(weight.size(0)) if scale is None else scale
    offset = weight.new_zeros(()) if offset is None else offset
    scale = times((-K) ** -0.5, scale)
    return _shaped(_horospheres(*rows(_flat(x), K, pace, tangent), weight, scale, offset), x)


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


def _flat(x: Points) -> Points:
    return x if isinstance(x, SparseRows) or x.dim() == 2 else x.reshape(-1, x.size(-1))


def _shaped(logits: Tensor, x: Points) -> Tensor:
    return logits if isinstance(x, SparseRows) or x.dim() == 2 else logits.reshape(*x.shape[:-1], -1)


@operator
def hyperplanes(
    x: Points,
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
    :math:`\frac{c_k}{s}\sinh^{-1}(\cosh(s b_k)\langle x_s, v_k\rangle - \sinh(s b_k) x_t)` at :class:`Rows`;
    without a scale :math:`c_k = \lVert z_k\rVert`. Shapes: x ``(..., ambient)``, weight ``(C, n)``, offset
    and scale ``(C,)``, result ``(..., C)``.
    """
    s, limit = (-K) ** 0.5, distance_limit(weight.dtype)
    b = s * offset
    b = torch.where(b.abs() > limit, torch.sign(b) * limit, b)
    points = rows(_flat(x), K, pace, tangent)
    inner, norms = points.products(weight), torch.linalg.vector_norm(weight, dim=-1)
    scale, column = (norms if scale is None else scale) / s, b.cosh() / nonzero(norms)
    return _shaped(tail(inner, points.time, column, -b.sinh(), scale, "asinh", -math.inf), x)


class _Placed(NamedTuple):
    """The points exp0(u_k), as numbers a class, seen on the Lorentz model of curvature -1: the
    factor of u_k in the spatial part p, that part's squared norm, the time, the inner product h of p with the
    unit normal, and the length of the normal."""

    factor: Tensor
    square: Tensor
    time: Tensor
    along: Tensor
    length: Tensor


def _place(point: Tensor, normal: Tensor, K: Scalar, pace: float) -> _Placed:
    # a norm has the cheaper derivative, and here the rows are many
    u2, z2 = (torch.linalg.vector_norm(rows, dim=-1).square() for rows in (point, normal))
    uz = dot(point, normal).squeeze(-1)
    limit = distance_limit(point.dtype)
    q = -pace * pace * K * u2
    factor = pace * (-K) ** 0.5 * sinhc(bound_square(q, limit)) * bound_factor(q, limit)
    square = factor.square() * u2
    length = torch.where(z2 > 0, z2, 1.0).sqrt()
    return _Placed(factor, square, (1 + square).sqrt(), factor * uz / length, length)


@operator
def hyperplanes_through(x: Tensor, point: Tensor, normal: Tensor, *, K: Scalar, pace: float) -> Tensor:
    r""":math:`\lambda_{p_k}\lVert a_k\rVert` times the signed distance to the hyperplane through
    :math:`p_k = \mathrm{Exp}_0(u_k)` with normal :math:`a_k`.

    With :math:`\hat a = a_k/\lVert a_k\rVert` and :math:`h = \langle p_s, \hat a\rangle`, it is
    :math:`\sinh^{-1}` of :math:`\langle x_s, \hat a + h p_s/(1 + p_t)\rangle - h x_t` at :class:`Rows`: one
    product, with a vector of norm :math:`\sqrt{1 + h^2}`.
    """
    p = _place(point, normal, K, pace)
    lean = p.length * p.along * p.factor / (1 + p.time)
    points = rows(_flat(x), K, pace, False)
    towards = combine(1.0, normal, lean.unsqueeze(-1), point)
    inner, norms = points.products(towards), torch.linalg.vector_norm(towards, dim=-1)
    column = (1 + p.along.square()).sqrt() / nonzero(norms)
    scale = (1 + p.time) * p.length / (-K) ** 0.5
    return _shaped(tail(inner, points.time, column, -p.along, scale, "asinh", -math.inf), x)


@operator
def pseudo_busemann(x: Tensor, point: Tensor, direction: Tensor, *, K: Scalar, pace: float) -> Tensor:
    r"""In ball coordinates :math:`-d(x, p_k)\,B^{v_k}(m)/\lVert m\rVert` with :math:`m = -p_k\oplus x` and
    :math:`p_k = \mathrm{Exp}_0(u_k)`.

    Moving x by an isometry moves the ideal point the other way,
    :math:`B^{v}(-p\oplus x) = B^{v'}(x) + B^{v}(-p)` with :math:`v' = \sqrt{-K}p\oplus v` on the sphere, and
    :math:`d/\lVert m\rVert = 2h\coth h` with :math:`h = \sqrt{-K}d/2`: two products.
    """
    s, p = (-K) ** 0.5, _place(point, direction, K, pace)
    # p + v has the time T + h, which is its norm, and the spatial part v + (1 + h / (1 + T)) p
    rise = at_least(p.square / (1 + p.time) + p.along, 1 / (p.time + safe_sqrt(p.square)) - 1)
    towards = combine(
        1.0, direction, (p.length * p.factor * (1 + p.along / (1 + p.time))).unsqueeze(-1), point
    )
    points = rows(_flat(x), K, pace, False)
    busemann = _horospheres(*points, towards, torch.full_like(rise, -2.0) / s, -2 / s * torch.log1p(rise))
    # cosh(s d) is a Minkowski product
    return _shaped(
        busemann * tail(points.products(point), points.time, -p.factor, p.time, None, "hcothh", 1.0), x
    )


@operator
def linear_forms(x: Points, weight: Tensor, *, K: Scalar, pace: float, tangent: bool = False) -> Tensor:
    """The inner products of the coordinates on the Lorentz model, time first, with the rows of ``weight``."""
    if isinstance(x, Tensor) and pace == 1 and not tangent:
        return x @ weight.mT
    points = rows(x, K, pace, tangent)
    return (points.products(weight[:, 1:]) + points.time * weight[:, 0]) / (-K) ** 0.5
